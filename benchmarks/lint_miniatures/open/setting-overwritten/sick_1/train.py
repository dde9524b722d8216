import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--batch_size", type=int, default=64)
parser.add_argument("--epochs", type=int, default=20)
parser.add_argument("--lr", type=float, default=1e-3)  #@
args = parser.parse_args()

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
args.lr = 1e-4  #@

x, y = torch.randn(2000, 20), torch.randint(0, 5, (2000,))
train_loader = DataLoader(TensorDataset(x[:1600], y[:1600]), batch_size=args.batch_size, shuffle=True)
val_loader = DataLoader(TensorDataset(x[1600:], y[1600:]), batch_size=args.batch_size)
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 5)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)  #@

for epoch in range(args.epochs):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        F.cross_entropy(model(xb.to(device)), yb.to(device)).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = torch.cat([model(xb.to(device)).argmax(1) == yb.to(device) for xb, yb in val_loader]).float().mean()
    print(epoch, acc.item())
