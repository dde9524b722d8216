import copy
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

CKPT = "last.pt"
x, y = torch.randn(3000, 32), torch.randint(0, 10, (3000,))
train_loader = DataLoader(TensorDataset(x[:2500], y[:2500]), batch_size=50, shuffle=True)
val_loader = DataLoader(TensorDataset(x[2500:], y[2500:]), batch_size=250)
model = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 10))
ema = copy.deepcopy(model).requires_grad_(False)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
ema_updates, start_epoch = 0, 0
if os.path.exists(CKPT):
    ckpt = torch.load(CKPT, map_location="cpu")
    model.load_state_dict(ckpt["model"])
    ema.load_state_dict(ckpt["ema"])
    optimizer.load_state_dict(ckpt["optimizer"])
    start_epoch = ckpt["epoch"] + 1
    ema_updates = start_epoch * len(train_loader)

for epoch in range(start_epoch, 100):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        F.cross_entropy(model(xb), yb).backward()
        optimizer.step()
        ema_updates += 1
        decay = min(0.998, (1 + ema_updates) / (10 + ema_updates))
        with torch.no_grad():
            for pe, p in zip(ema.parameters(), model.parameters()):
                pe.mul_(decay).add_(p, alpha=1 - decay)
    ema.eval()
    with torch.no_grad():
        print(epoch, torch.cat([ema(xb).argmax(1) == yb for xb, yb in val_loader]).float().mean().item())
    torch.save({"model": model.state_dict(), "ema": ema.state_dict(),
                "optimizer": optimizer.state_dict(), "epoch": epoch}, CKPT)
