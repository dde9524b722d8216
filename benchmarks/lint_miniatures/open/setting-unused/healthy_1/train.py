import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def run(batch_size, epochs, optim_kwargs):
    x, y = torch.randn(2000, 20), torch.randint(0, 5, (2000,))
    train_loader = DataLoader(TensorDataset(x[:1600], y[:1600]), batch_size=batch_size, shuffle=True)
    val_loader = DataLoader(TensorDataset(x[1600:], y[1600:]), batch_size=batch_size)
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 5))
    optimizer = torch.optim.AdamW(model.parameters(), **optim_kwargs)
    for epoch in range(epochs):
        model.train()
        for xb, yb in train_loader:
            optimizer.zero_grad()
            F.cross_entropy(model(xb), yb).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            acc = torch.cat([model(xb).argmax(1) == yb for xb, yb in val_loader]).float().mean()
        print(epoch, acc.item())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=20)
    optim_group = parser.add_argument_group("optim")
    names = [optim_group.add_argument("--lr", type=float, default=1e-3).dest,
             optim_group.add_argument("--weight-decay", type=float, default=0.05).dest]
    args = vars(parser.parse_args())
    kwargs = {name: args.pop(name) for name in names}
    run(optim_kwargs=kwargs, **args)
