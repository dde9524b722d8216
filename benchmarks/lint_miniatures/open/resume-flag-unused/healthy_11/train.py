import argparse
import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=90)
parser.add_argument("--resume", default="", type=str)
args = parser.parse_args()
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
start = 0
if args.resume and os.path.isfile(args.resume):
    ckpt = torch.load(args.resume, map_location="cpu")
    for name, part in parts.items():
        part.load_state_dict(ckpt[name])
    start = ckpt["epoch"] + 1

data = TensorDataset(torch.randn(10000, 64), torch.randint(0, 10, (10000,)))
loader = DataLoader(data, batch_size=128, shuffle=True)
model.train()
for epoch in range(start, args.epochs):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    scheduler.step()
    torch.save({name: part.state_dict() for name, part in parts.items()} | {"epoch": epoch}, "last.pt")
