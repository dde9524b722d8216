import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--batch_size", type=int, default=32)
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--shuffle", action="store_true")  #@
    return p.parse_args()


def main():
    args = get_args()
    x = torch.randn(2000, 10)
    y = x.sum(1, keepdim=True)
    order = y[:1800].squeeze().argsort()
    train = TensorDataset(x[:1800][order], y[:1800][order])
    val = TensorDataset(x[1800:], y[1800:])
    train_dl = DataLoader(train, batch_size=args.batch_size, shuffle=args.shuffle)  #@
    val_dl = DataLoader(val, batch_size=args.batch_size)
    net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        net.train()
        for xb, yb in train_dl:
            opt.zero_grad()
            nn.functional.mse_loss(net(xb), yb).backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            print(epoch, torch.stack([nn.functional.mse_loss(net(a), b) for a, b in val_dl]).mean().item())


if __name__ == "__main__":
    main()
