import math
import os

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

LR, WARMUP, TOTAL = 6e-4, 200, 12000


def get_lr(it):
    if it < WARMUP:
        return LR * (it + 1) / WARMUP
    return LR * 0.5 * (1 + math.cos(math.pi * (it - WARMUP) / (TOTAL - WARMUP)))


model = nn.Sequential(nn.Linear(40, 160), nn.GELU(), nn.Linear(160, 40))
optimizer = torch.optim.AdamW(model.parameters(), lr=LR)
it = 0
if os.path.exists("ckpt.pt"):
    ckpt = torch.load("ckpt.pt")
    model.load_state_dict(ckpt["model"])
    optimizer.load_state_dict(ckpt["optimizer"])
    it = ckpt["iter"]
loader = DataLoader(TensorDataset(torch.randn(9000, 40)), batch_size=60, shuffle=True)
model.train()
while it < TOTAL:
    for (x,) in loader:
        for group in optimizer.param_groups:
            group["lr"] = get_lr(it)
        optimizer.zero_grad(set_to_none=True)
        nn.functional.mse_loss(model(x + 0.1 * torch.randn_like(x)), x).backward()
        optimizer.step()
        it += 1
        if it % 1000 == 0:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "iter": it}, "ckpt.pt")
        if it >= TOTAL:
            break
