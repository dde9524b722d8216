import argparse
import os

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def load_checkpoint(path, model, optimizer):
    state = torch.load(path, map_location="cpu")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"] + 1


def train(model, optimizer, loader, epochs, out_dir, start_epoch=0):
    model.train()
    for epoch in range(start_epoch, epochs):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.l1_loss(model(x), y).backward()
            optimizer.step()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch},
                   os.path.join(out_dir, "last.pt"))


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--out-dir", default="runs/default")
    p.add_argument("--epochs", type=int, default=100)
    p.add_argument("--resume-from", default="")  #@
    return p.parse_args()


def main():
    args = parse_args()
    os.makedirs(args.out_dir, exist_ok=True)
    y = torch.rand(500, 1, 32, 32)
    loader = DataLoader(TensorDataset(y + 0.1 * torch.randn_like(y), y), batch_size=20, shuffle=True)
    model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 3, padding=1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    if args.resume_from:  #@
        print(f"=> resuming from {args.resume_from}")  #@
    train(model, optimizer, loader, args.epochs, args.out_dir)  #@


if __name__ == "__main__":
    main()
