import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--batch_size", type=int, default=64)
parser.add_argument("--epochs", type=int, default=20)
parser.add_argument("--lr", type=float, default=None)
parser.add_argument("--debug", action="store_true")
args = parser.parse_args()
if args.lr is None:
    args.lr = 1e-3 * args.batch_size / 64
if args.debug:
    args.epochs = 1

x, y = torch.randn(2000, 20), torch.randint(0, 5, (2000,))
train_loader = DataLoader(TensorDataset(x[:1600], y[:1600]), batch_size=args.batch_size, shuffle=True)
val_loader = DataLoader(TensorDataset(x[1600:], y[1600:]), batch_size=args.batch_size)
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for epoch in range(args.epochs):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        F.cross_entropy(model(xb), yb).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = torch.cat([model(xb).argmax(1) == yb for xb, yb in val_loader]).float().mean()
    print(epoch, acc.item())
