import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--dim", type=int, default=64)
    p.add_argument("--dropout", type=float, default=0.1)  #@
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--epochs", type=int, default=25)
    p.add_argument("--batch-size", type=int, default=32)
    return p.parse_args()


class TextClassifier(nn.Module):
    def __init__(self, vocab, dim, dropout):
        super().__init__()
        dropout = 0.5  #@
        self.emb = nn.EmbeddingBag(vocab, dim)
        self.head = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Dropout(dropout), nn.Linear(dim, 2))  #@

    def forward(self, tokens):
        return self.head(self.emb(tokens))


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    return torch.cat([model(t).argmax(1) == y for t, y in loader]).float().mean().item()


def main(args):
    tokens, labels = torch.randint(0, 5000, (3000, 40)), torch.randint(0, 2, (3000,))
    train_dl = DataLoader(TensorDataset(tokens[:2600], labels[:2600]), args.batch_size, shuffle=True)
    val_dl = DataLoader(TensorDataset(tokens[2600:], labels[2600:]), args.batch_size)
    model = TextClassifier(5000, args.dim, args.dropout)  #@
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        model.train()
        for t, y in train_dl:
            opt.zero_grad()
            nn.functional.cross_entropy(model(t), y).backward()
            opt.step()
        print(epoch, accuracy(model, val_dl))


if __name__ == "__main__":
    main(get_args())
