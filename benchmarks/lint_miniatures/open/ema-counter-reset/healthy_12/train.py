import os

import torch
import torch.nn as nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Sequential(nn.Linear(20, 100), nn.ReLU(), nn.Linear(100, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))
start = 0
if os.path.exists("last.pt"):
    ckpt = torch.load("last.pt")
    model.load_state_dict(ckpt["model"])
    optimizer.load_state_dict(ckpt["optimizer"])
    ema.load_state_dict(ckpt["ema"])
    start = ckpt["epoch"] + 1

loader = DataLoader(TensorDataset(torch.randn(6000, 20), torch.randint(0, 2, (6000,))), 60, shuffle=True)
model.train()
for epoch in range(start, 100):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        ema.update_parameters(model)
    torch.save({
        "model": model.state_dict(), "optimizer": optimizer.state_dict(),
        "ema": ema.state_dict(), "epoch": epoch,
    }, "last.pt")
torch.save(ema.module.state_dict(), "final_ema.pt")
