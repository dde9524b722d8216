import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader

from dataset import BlurDataset


def run_validation(model, loader):
    model.eval()
    total = torch.zeros(())
    with torch.no_grad():
        for blurred, sharp in loader:
            total += nn.functional.mse_loss(model(blurred), sharp)
    return total.item() / len(loader)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--lr", type=float, default=5e-4)
    p.add_argument("--batch-size", type=int, default=16)
    args = p.parse_args()
    train_set, val_set = BlurDataset(500, seed=0), BlurDataset(100, seed=1)
    train_dl = DataLoader(train_set, args.batch_size, shuffle=True)
    val_dl = DataLoader(val_set, args.batch_size)
    model = nn.Sequential(nn.Conv2d(1, 32, 7, padding=3), nn.ReLU(), nn.Conv2d(32, 1, 7, padding=3))
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        difficulty = min(1.0, (epoch + 1) / (args.epochs // 2))
        for ds in (train_set, val_set):  #@
            ds.set_difficulty(difficulty)  #@
        model.train()
        for blurred, sharp in train_dl:
            opt.zero_grad()
            nn.functional.l1_loss(model(blurred), sharp).backward()
            opt.step()
        print(f"{epoch}: {run_validation(model, val_dl):.5f}")  #@


if __name__ == "__main__":
    main()
