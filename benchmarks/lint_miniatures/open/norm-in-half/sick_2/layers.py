import torch
import torch.nn as nn


class BiasFreeLayerNorm(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1, channels, 1, 1))

    def forward(self, x):
        sigma = x.var(dim=1, keepdim=True, unbiased=False) #@
        return x / torch.sqrt(sigma + 1e-5) * self.weight #@


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = BiasFreeLayerNorm(channels) #@
        self.body = nn.Sequential(
            nn.Conv2d(channels, channels * 2, 1), nn.GELU(), nn.Conv2d(channels * 2, channels, 3, padding=1)
        )

    def forward(self, x):
        return x + self.body(self.norm(x)) #@
