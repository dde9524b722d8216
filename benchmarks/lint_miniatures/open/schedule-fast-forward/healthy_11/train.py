import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--resume")
args = parser.parse_args()
EPOCHS = 120
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
start, last = 0, None
if args.resume:
    last = torch.load(args.resume)
    model.load_state_dict(last["model"])
    start = last["epoch"]
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[60, 90], gamma=0.1)
if last is not None:
    optimizer.load_state_dict(last["optimizer"])
    scheduler.load_state_dict(last["scheduler"])

loader = DataLoader(TensorDataset(torch.randn(5000, 32), torch.randint(0, 4, (5000,))), 50, shuffle=True)
model.train()
for epoch in range(start, EPOCHS):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    scheduler.step()
    torch.save({
        "model": model.state_dict(), "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(), "epoch": epoch + 1,
    }, "last.pt")
