import math

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_
from torch.utils.data import DataLoader, TensorDataset


def grad_norm(module):
    return clip_grad_norm_(module.parameters(), max_norm=math.inf) #@


class Trainer:
    def __init__(self, net, lr=2e-4, log_every=100):
        self.net = net.cuda()
        self.opt = torch.optim.AdamW(net.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cuda")
        self.log_every = log_every
        self.iteration = 0

    def step(self, x, y):
        self.opt.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.mse_loss(self.net(x), y)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.opt)
        norm = grad_norm(self.net) #@
        self.scaler.step(self.opt)
        self.scaler.update()
        self.iteration += 1
        if self.iteration % self.log_every == 0:
            print(f"{self.iteration} loss {loss.item():.4f} |g| {norm.item():.3f}")


if __name__ == "__main__":
    x = torch.randn(8000, 24)
    loader = DataLoader(TensorDataset(x, x.sort(1).values), batch_size=64, shuffle=True)
    trainer = Trainer(nn.Sequential(nn.Linear(24, 256), nn.GELU(), nn.Linear(256, 24)))
    trainer.net.train()
    for _ in range(20):
        for xb, yb in loader:
            trainer.step(xb.cuda(), yb.cuda())
