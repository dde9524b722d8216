import math
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

MAX_ITERS, WARMUP, LR, CKPT = 20000, 500, 1e-3, Path("ckpt.pt")


def lr_at(it):
    if it < WARMUP:
        return LR * (it + 1) / WARMUP
    return LR * 0.5 * (1 + math.cos(math.pi * (it - WARMUP) / (MAX_ITERS - WARMUP)))


def forever(loader):
    while True:
        yield from loader


x = torch.randn(5000, 8)
loader = DataLoader(TensorDataset(x, x.sin().sum(1, keepdim=True)), batch_size=50, shuffle=True)
model = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1))
opt = torch.optim.AdamW(model.parameters(), lr=LR)
first = 0
if CKPT.exists():
    state = torch.load(CKPT, map_location="cpu")
    model.load_state_dict(state["model"])
    opt.load_state_dict(state["opt"])
    first = state["it"] + 1
model.train()
for it, (xb, yb) in enumerate(forever(loader), start=first):
    if it >= MAX_ITERS:
        break
    for group in opt.param_groups:
        group["lr"] = lr_at(it)
    opt.zero_grad()
    nn.functional.mse_loss(model(xb), yb).backward()
    opt.step()
    if (it + 1) % 1000 == 0:
        torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "it": it}, CKPT)
