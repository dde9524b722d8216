import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

p = argparse.ArgumentParser()
p.add_argument("--dtype", choices=["float16", "bfloat16"], default="bfloat16")
args = p.parse_args()
ptdtype = getattr(torch, args.dtype)
ctx = torch.amp.autocast("cuda", dtype=ptdtype)
scaler = torch.amp.GradScaler("cuda", enabled=(args.dtype == "float16"))

model = nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 10)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(9000, 128), torch.randint(0, 10, (9000,))), 64, shuffle=True)
model.train()
for epoch in range(10):
    for x, y in loader:
        optimizer.zero_grad(set_to_none=True)
        with ctx:
            loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
