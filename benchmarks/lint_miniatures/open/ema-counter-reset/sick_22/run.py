import pathlib

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from averager import PowerEMA

CKPT = pathlib.Path("runs/flow/state.pt")


def velocity_loss(net, x1):
    x0 = torch.randn_like(x1)
    t = torch.rand(len(x1), 1, device=x1.device)
    xt = (1 - t) * x0 + t * x1
    return F.mse_loss(net(torch.cat([xt, t], dim=1)), x1 - x0)


accelerator = Accelerator()
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(17, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 16))
opt = torch.optim.AdamW(net.parameters(), lr=2e-4)
loader = DataLoader(TensorDataset(torch.load("latents.pt")), batch_size=512, shuffle=True)
net, opt, loader = accelerator.prepare(net, opt, loader)
ema = PowerEMA(net.parameters())
first = 0

if CKPT.exists():
    saved = torch.load(CKPT, map_location=accelerator.device)
    accelerator.unwrap_model(net).load_state_dict(saved["net"])
    opt.load_state_dict(saved["opt"])
    first = saved["epoch"] + 1
    for a, b in zip(ema.average, saved["ema"]):  #@
        a.copy_(b)  #@

for epoch in range(first, 300):
    net.train()
    for (x1,) in loader:
        opt.zero_grad()
        accelerator.backward(velocity_loss(net, x1))
        accelerator.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        ema.step()
    if accelerator.is_main_process:
        CKPT.parent.mkdir(parents=True, exist_ok=True)
        torch.save({"net": accelerator.unwrap_model(net).state_dict(), "opt": opt.state_dict(),
                    "ema": ema.average, "epoch": epoch}, CKPT)  #@
    accelerator.wait_for_everyone()
