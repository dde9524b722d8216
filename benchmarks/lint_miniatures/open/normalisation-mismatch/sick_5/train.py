import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader

from data import PngPairs


def validate(net, loader):
    net.eval()
    with torch.no_grad():
        return torch.stack([nn.functional.l1_loss(net(x), y) for x, y in loader]).mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--train-list", default="train.txt")
    ap.add_argument("--val-list", default="val.txt")
    ap.add_argument("--lr", type=float, default=2e-4)
    ap.add_argument("--epochs", type=int, default=40)
    args = ap.parse_args()
    train_dl = DataLoader(PngPairs(args.train_list, augment=True), batch_size=8, shuffle=True)
    val_dl = DataLoader(PngPairs(args.val_list, augment=False), batch_size=1)
    net = nn.Sequential(nn.Conv2d(3, 48, 3, padding=1), nn.ReLU(), nn.Conv2d(48, 3, 3, padding=1))
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    best = float("inf")
    for epoch in range(args.epochs):
        net.train()
        for x, y in train_dl:
            opt.zero_grad()
            nn.functional.l1_loss(net(x), y).backward()
            opt.step()
        val = validate(net, val_dl)
        if val < best:
            best = val
            torch.save(net.state_dict(), "best.pth")
        print(epoch, val)


if __name__ == "__main__":
    main()
