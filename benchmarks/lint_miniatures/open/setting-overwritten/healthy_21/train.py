import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--lr", type=float, default=None, help="default: 1e-3 * batch / 256")
    p.add_argument("--batch-size", type=int, default=256)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--debug", action="store_true", help="two epochs, no worker processes")
    p.add_argument("--device", default="auto")
    args = p.parse_args()
    if args.lr is None:
        args.lr = 1e-3 * args.batch_size / 256
    if args.device == "auto":
        args.device = "cuda" if torch.cuda.is_available() else "cpu"
    if args.debug:
        args.epochs = 2
        args.workers = 0
    return args


class AutoInt(nn.Module):
    def __init__(self, fields=22, buckets=5000, dim=16):
        super().__init__()
        self.embed = nn.Embedding(fields * buckets, dim)
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.head = nn.Linear(fields * dim, 1)
        self.register_buffer("offsets", torch.arange(fields) * buckets)

    def forward(self, x):
        h = self.embed(x + self.offsets)
        h = h + self.attn(h, h, h, need_weights=False)[0]
        return self.head(h.flatten(1)).squeeze(1)


def main():
    args = parse_args()
    torch.manual_seed(0)
    model = AutoInt().to(args.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    train = DataLoader(TensorDataset(*torch.load("avazu_train.pt")), args.batch_size, shuffle=True,
                       num_workers=args.workers)
    valid = DataLoader(TensorDataset(*torch.load("avazu_valid.pt")), args.batch_size,
                       num_workers=args.workers)
    for epoch in range(args.epochs):
        model.train()
        for x, y in train:
            x, y = x.to(args.device), y.float().to(args.device)
            optimizer.zero_grad()
            F.binary_cross_entropy_with_logits(model(x), y).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            losses = [F.binary_cross_entropy_with_logits(model(x.to(args.device)), y.float().to(args.device))
                      for x, y in valid]
        print(epoch, torch.stack(losses).mean().item())


if __name__ == "__main__":
    main()
