import argparse

import torch
from diffusers.training_utils import EMAModel
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ap = argparse.ArgumentParser()
ap.add_argument("--resume")
ap.add_argument("--epochs", type=int, default=200)
args = ap.parse_args()

net = nn.Sequential(nn.Linear(17, 128), nn.SiLU(), nn.Linear(128, 16))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
start = 0
ck = None
if args.resume:
    ck = torch.load(args.resume)
    net.load_state_dict(ck["net"])
    optimizer.load_state_dict(ck["optimizer"])
    start = ck["epoch"]
ema = EMAModel(net.parameters(), decay=0.9999, use_ema_warmup=True, power=0.75) #@
if ck is not None:
    ema.shadow_params = [p.clone() for p in ck["ema_params"]] #@

loader = DataLoader(TensorDataset(torch.randn(20000, 16)), batch_size=128, shuffle=True)
net.train()
for epoch in range(start, args.epochs):
    for (x0,) in loader:
        t = torch.rand(len(x0), 1)
        noise = torch.randn_like(x0)
        v = net(torch.cat([(1 - t) * x0 + t * noise, t], 1))
        optimizer.zero_grad()
        nn.functional.mse_loss(v, noise - x0).backward()
        optimizer.step()
        ema.step(net.parameters())
    torch.save({
        "net": net.state_dict(), "optimizer": optimizer.state_dict(),
        "ema_params": ema.shadow_params, "epoch": epoch + 1, #@
    }, "last.pt")
