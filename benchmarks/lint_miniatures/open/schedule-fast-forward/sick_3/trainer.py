import math
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    max_iters: int = 20000
    warmup: int = 500
    lr: float = 1e-3
    ckpt: str = "ckpt.pt"


class Trainer:
    def __init__(self, cfg, model, loader):
        self.cfg, self.model, self.loader = cfg, model, loader
        self.opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        self.iter_num = 0
        if Path(cfg.ckpt).exists():
            state = torch.load(cfg.ckpt, map_location="cpu")
            self.model.load_state_dict(state["model"])
            self.opt.load_state_dict(state["opt"])
            self.iter_num = state["iter_num"]  #@

    def lr_at(self, it):
        if it < self.cfg.warmup:
            return self.cfg.lr * (it + 1) / self.cfg.warmup
        t = (it - self.cfg.warmup) / (self.cfg.max_iters - self.cfg.warmup)
        return self.cfg.lr * 0.5 * (1 + math.cos(math.pi * t))

    def batches(self):
        while True:
            yield from self.loader

    def run(self):
        self.model.train()
        for it, (x, y) in enumerate(self.batches()):  #@
            for group in self.opt.param_groups:
                group["lr"] = self.lr_at(it)  #@
            self.opt.zero_grad()
            nn.functional.mse_loss(self.model(x), y).backward()
            self.opt.step()
            self.iter_num += 1
            if self.iter_num % 1000 == 0:
                torch.save({"model": self.model.state_dict(), "opt": self.opt.state_dict(), "iter_num": self.iter_num}, self.cfg.ckpt)
            if self.iter_num >= self.cfg.max_iters:
                break


if __name__ == "__main__":
    x = torch.randn(5000, 8)
    dl = DataLoader(TensorDataset(x, x.sin().sum(1, keepdim=True)), batch_size=50, shuffle=True)
    Trainer(Config(), nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1)), dl).run()
