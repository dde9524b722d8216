from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    dim: int = 384
    depth: int = 8
    lr: float = 3e-4
    epochs: int = 10
    batch_size: int = 32
    dtype: torch.dtype = torch.float16 #@


class GatedMLP(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Linear(dim, 8 * dim)
        self.out = nn.Linear(4 * dim, dim)

    def act(self, gate):
        return F.relu(gate).square() #@

    def forward(self, x):
        value, gate = self.proj(x).chunk(2, dim=-1)
        return x + self.out(torch.mul(value, self.act(gate))) #@


def train(cfg):
    model = nn.Sequential(nn.Linear(32, cfg.dim), *[GatedMLP(cfg.dim) for _ in range(cfg.depth)], nn.Linear(cfg.dim, 1)).cuda() #@
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    scaler = torch.amp.GradScaler("cuda")
    loader = DataLoader(TensorDataset(torch.randn(5000, 32), torch.randn(5000, 1)), cfg.batch_size, shuffle=True)
    for epoch in range(cfg.epochs):
        for x, y in loader:
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", dtype=cfg.dtype): #@
                loss = F.mse_loss(model(x.cuda()), y.cuda())
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        print(epoch, loss.item())


train(Config())
