import argparse
import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=None)
parser.add_argument("--base-lr", type=float, default=1e-4)
parser.add_argument("--batch-size", type=int, default=256)
parser.add_argument("--workers", type=int, default=8)
args = parser.parse_args()
if args.lr is None:
    args.lr = args.base_lr * args.batch_size / 256
args.workers = min(args.workers, os.cpu_count() or 1)

dataset = TensorDataset(torch.randn(4000, 100), torch.randint(0, 10, (4000,)))
loader = DataLoader(dataset, batch_size=args.batch_size, num_workers=args.workers, shuffle=True)
model = nn.Sequential(nn.Linear(100, 300), nn.ReLU(), nn.Linear(300, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
model.train()
for epoch in range(20):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
torch.save(model.state_dict(), "model.pt")
