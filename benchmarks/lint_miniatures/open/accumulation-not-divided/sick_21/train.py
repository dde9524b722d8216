import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class CharTransformer(nn.Module):
    def __init__(self, vocab=128, dim=192, layers=4, length=256):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, dim), nn.Embedding(length, dim)
        layer = nn.TransformerEncoderLayer(dim, 6, 4 * dim, 0.1, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        n = ids.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(n, device=ids.device)
        h = self.tok(ids) + self.pos(torch.arange(n, device=ids.device))
        return self.head(self.body(h, mask=mask, is_causal=True))


def lm_loss(model, ids):
    logits = model(ids[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--micro-batch", type=int, default=8)
    parser.add_argument("--accum-steps", type=int, default=16)  #@
    parser.add_argument("--lr", type=float, default=6e-4)
    parser.add_argument("--epochs", type=int, default=5)
    args = parser.parse_args()
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = CharTransformer().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    train = DataLoader(TensorDataset(torch.load("chars_train.pt")), args.micro_batch, shuffle=True)
    valid = DataLoader(TensorDataset(torch.load("chars_valid.pt")), args.micro_batch)
    for epoch in range(args.epochs):
        model.train()
        optimizer.zero_grad()
        for i, (ids,) in enumerate(train, start=1):
            loss = lm_loss(model, ids.to(device))  #@
            loss.backward()  #@
            if i % args.accum_steps == 0 or i == len(train):
                optimizer.step()  #@
                optimizer.zero_grad()
        model.eval()
        with torch.no_grad():
            losses = [lm_loss(model, ids.to(device)) for (ids,) in valid]
        print(epoch, torch.stack(losses).mean().item())


if __name__ == "__main__":
    main()
