import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import PolynomialLR
from torch.utils.data import DataLoader, TensorDataset


def build_model():
    return nn.Sequential(nn.Conv1d(3, 64, 9, 2, 4), nn.BatchNorm1d(64), nn.ReLU(),
                         nn.Conv1d(64, 128, 9, 2, 4), nn.BatchNorm1d(128), nn.ReLU(),
                         nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(128, 7))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--resume", default=None)
    args = parser.parse_args()
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train = DataLoader(TensorDataset(*torch.load("har_train.pt")), 64, shuffle=True, drop_last=True)
    valid = DataLoader(TensorDataset(*torch.load("har_valid.pt")), 256)
    model = build_model().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = PolynomialLR(optimizer, total_iters=args.epochs * len(train), power=0.9)

    start_epoch = 0
    if args.resume:
        ckpt = torch.load(args.resume, map_location=device)
        model.load_state_dict(ckpt["model"])
        optimizer.load_state_dict(ckpt["optimizer"])
        scheduler.load_state_dict(ckpt["scheduler"])  #@
        start_epoch = ckpt["epoch"] + 1
        for _ in range(start_epoch * len(train)):  #@
            scheduler.step()  #@

    for epoch in range(start_epoch, args.epochs):
        model.train()
        for x, y in train:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
            scheduler.step()
        model.eval()
        with torch.no_grad():
            hits = [(model(x.to(device)).argmax(1).cpu() == y).float() for x, y in valid]
        print(epoch, torch.cat(hits).mean().item())
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                    "scheduler": scheduler.state_dict(), "epoch": epoch}, "har_last.pt")


if __name__ == "__main__":
    main()
