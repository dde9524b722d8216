import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--dtype", choices=["float16", "bfloat16"], default="bfloat16")
parser.add_argument("--lr", type=float, default=1e-3)
args = parser.parse_args()

dtype = getattr(torch, args.dtype)
model = nn.Sequential(nn.Linear(100, 400), nn.GELU(), nn.Linear(400, 20)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
scaler = torch.amp.GradScaler("cuda", enabled=(dtype == torch.float16))
dataset = TensorDataset(torch.randn(10000, 100), torch.randint(0, 20, (10000,)))
loader = DataLoader(dataset, batch_size=256, shuffle=True, pin_memory=True)

for epoch in range(10):
    for x, y in loader:
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=dtype):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    print(epoch, loss.item())
