import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

CKPT = "checkpoint.pth"
x, y = torch.randn(4000, 32), torch.randint(0, 10, (4000,))
train_loader = DataLoader(TensorDataset(x[:3500], y[:3500]), batch_size=100, shuffle=True)
val_loader = DataLoader(TensorDataset(x[3500:], y[3500:]), batch_size=250)
model = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 30)
parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
start = 0
if os.path.exists(CKPT):
    saved = torch.load(CKPT, map_location="cpu")
    for name, part in parts.items():
        part.load_state_dict(saved[name])
    start = saved["epoch"] + 1

for epoch in range(start, 100):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        F.cross_entropy(model(xb), yb).backward()
        optimizer.step()
    scheduler.step()
    model.eval()
    with torch.no_grad():
        acc = torch.cat([model(xb).argmax(1) == yb for xb, yb in val_loader]).float().mean()
    print(epoch, acc.item())
    torch.save({name: part.state_dict() for name, part in parts.items()} | {"epoch": epoch}, CKPT)
