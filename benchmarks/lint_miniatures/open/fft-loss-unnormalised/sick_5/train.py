from dataclasses import dataclass, field

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    lr: float = 2e-4
    epochs: int = 40
    crop: int = 128
    norm: str = "backward" #@
    weights: dict = field(default_factory=lambda: {"charbonnier": 1.0, "fft": 0.5}) #@


def charbonnier(a, b):
    return torch.sqrt((a - b) ** 2 + 1e-6).mean()


class CombinedLoss(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.weights, self.norm = cfg.weights, cfg.norm

    def forward(self, pred, target):
        total = self.weights["charbonnier"] * charbonnier(pred, target)
        residual = torch.fft.rfftn(pred - target, dim=(-2, -1), norm=self.norm) #@
        return total + self.weights["fft"] * residual.abs().mean() #@


def train(cfg):
    clean = torch.rand(200, 3, cfg.crop, cfg.crop)
    loader = DataLoader(TensorDataset(F.avg_pool2d(clean, 3, 1, 1), clean), batch_size=8, shuffle=True)
    net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.GELU(), nn.Conv2d(32, 3, 3, padding=1))
    criterion = CombinedLoss(cfg) #@
    opt = torch.optim.AdamW(net.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        for x, y in loader:
            loss = criterion(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())


train(Config())
