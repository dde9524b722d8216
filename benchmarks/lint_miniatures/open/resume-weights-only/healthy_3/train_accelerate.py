import argparse

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--resume", default=None)
    p.add_argument("--epochs", type=int, default=20)
    args = p.parse_args()
    accelerator = Accelerator()
    torch.manual_seed(0)
    x, y = torch.randn(6000, 40), torch.randint(0, 3, (6000,))
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    model = nn.Sequential(nn.Linear(40, 128), nn.ReLU(), nn.Linear(128, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    first = 0
    if args.resume:
        accelerator.load_state(args.resume)
        first = int(args.resume.rstrip("/").split("_")[-1]) + 1
    model.train()
    for epoch in range(first, args.epochs):
        for xb, yb in loader:
            accelerator.backward(F.cross_entropy(model(xb), yb))
            optimizer.step()
            optimizer.zero_grad()
        accelerator.save_state(f"out/epoch_{epoch}")


if __name__ == "__main__":
    main()
