import copy
import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class EMA:
    def __init__(self, model, decay=0.9999):
        self.module = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay, self.updates = decay, 0

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        d = min(self.decay, (1 + self.updates) / (10 + self.updates))
        for e, p in zip(self.module.parameters(), model.parameters()):
            e.lerp_(p, 1 - d)


model = nn.Sequential(nn.Linear(20, 100), nn.ReLU(), nn.Linear(100, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
ema = EMA(model)
start = 0
if os.path.exists("last.pt"):
    ckpt = torch.load("last.pt")
    model.load_state_dict(ckpt["model"])
    optimizer.load_state_dict(ckpt["optimizer"])
    ema.module.load_state_dict(ckpt["ema"])
    ema.updates = ckpt["updates"]
    start = ckpt["epoch"] + 1
loader = DataLoader(TensorDataset(torch.randn(6000, 20), torch.randint(0, 2, (6000,))), 60, shuffle=True)
model.train()
for epoch in range(start, 300):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        ema.update(model)
    torch.save({
        "model": model.state_dict(), "optimizer": optimizer.state_dict(),
        "ema": ema.module.state_dict(), "updates": ema.updates, "epoch": epoch,
    }, "last.pt")
