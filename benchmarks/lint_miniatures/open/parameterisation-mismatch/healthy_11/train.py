import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

T = 1000
alpha_bar = torch.cumprod(1 - torch.linspace(1e-4, 0.02, T), dim=0)


def make_target(kind, x0, noise, a):
    if kind == "eps":
        return noise
    if kind == "x0":
        return x0
    return a.sqrt() * noise - (1 - a).sqrt() * x0


def to_x0(kind, out, x_t, a):
    if kind == "eps":
        return (x_t - (1 - a).sqrt() * out) / a.sqrt()
    return out if kind == "x0" else a.sqrt() * x_t - (1 - a).sqrt() * out


net = nn.Sequential(nn.Linear(33, 256), nn.SiLU(), nn.Linear(256, 32))
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-4)
loader = DataLoader(TensorDataset(torch.randn(20000, 32)), batch_size=128, shuffle=True)
kind = "v"
net.train()
for epoch in range(50):
    for (x0,) in loader:
        t = torch.randint(0, T, (len(x0),))
        a = alpha_bar[t][:, None]
        noise = torch.randn_like(x0)
        x_t = a.sqrt() * x0 + (1 - a).sqrt() * noise
        out = net(torch.cat([x_t, t[:, None] / T], 1))
        loss = nn.functional.mse_loss(out, make_target(kind, x0, noise, a))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item(), (to_x0(kind, out, x_t, a) - x0).abs().mean().item())
