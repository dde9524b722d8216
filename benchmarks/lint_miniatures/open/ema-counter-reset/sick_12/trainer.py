import copy
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, net, cfg):
        self.net, self.cfg = net, cfg
        self.net_ema = copy.deepcopy(net).requires_grad_(False)
        self.opt = torch.optim.AdamW(net.parameters(), lr=cfg["lr"])
        self.step, self.ema_step = 0, 0 #@
        if cfg["resume"]:
            ck = torch.load(cfg["resume"])
            self.net.load_state_dict(ck["net"])
            self.net_ema.load_state_dict(ck["net_ema"])
            self.opt.load_state_dict(ck["opt"])
            self.step = ck["step"] #@

    @torch.no_grad()
    def update_ema(self):
        if self.ema_step < self.cfg["ema_start"]: #@
            self.net_ema.load_state_dict(self.net.state_dict()) #@
        else:
            for a, b in zip(self.net_ema.parameters(), self.net.parameters()):
                a.mul_(self.cfg["ema_decay"]).add_(b, alpha=1 - self.cfg["ema_decay"])
        self.ema_step += 1 #@

    def fit(self, loader):
        self.net.train()
        while self.step < self.cfg["steps"]:
            for (x,) in loader:
                self.opt.zero_grad()
                nn.functional.mse_loss(self.net(x + torch.randn_like(x)), x).backward()
                self.opt.step()
                self.update_ema()
                self.step += 1
                if self.step % 1000 == 0:
                    torch.save({
                        "net": self.net.state_dict(), "net_ema": self.net_ema.state_dict(),
                        "opt": self.opt.state_dict(), "step": self.step, #@
                    }, "ckpt.pt")


cfg = dict(lr=2e-4, steps=50000, ema_start=2000, ema_decay=0.9995, resume=sys.argv[1] if len(sys.argv) > 1 else None)
loader = DataLoader(TensorDataset(torch.randn(10000, 32)), batch_size=100, shuffle=True)
Trainer(nn.Sequential(nn.Linear(32, 128), nn.SiLU(), nn.Linear(128, 32)), cfg).fit(loader)
