import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision.io import read_image

from metrics import psnr


class Frames(Dataset):
    def __init__(self, listing):
        with open(listing) as f:
            self.rows = [line.strip().split(",") for line in f]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return tuple(read_image(p).float() / 127.5 - 1.0 for p in self.rows[i])  #@


def evaluate(net, loader):
    net.eval()
    with torch.no_grad():
        scores = [psnr(net(x).clamp(-1, 1), y) for x, y in loader]  #@
    return torch.cat(scores).mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--lr", type=float, default=1e-4)
    ap.add_argument("--epochs", type=int, default=30)
    args = ap.parse_args()
    train_dl = DataLoader(Frames("train.csv"), batch_size=8, shuffle=True)
    val_dl = DataLoader(Frames("val.csv"), batch_size=4)
    net = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.LeakyReLU(0.1), nn.Conv2d(64, 3, 3, padding=1))
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        net.train()
        for x, y in train_dl:
            opt.zero_grad()
            nn.functional.l1_loss(net(x), y).backward()
            opt.step()
        print(f"[{epoch}] psnr={evaluate(net, val_dl):.2f}")


if __name__ == "__main__":
    main()
