import torch
from torch import nn


class TimeBlock(nn.Module):
    def __init__(self, c, dropout):
        super().__init__()
        self.conv = nn.Conv2d(c, c, 3, padding=1)
        self.norm = nn.GroupNorm(4, c)
        self.time = nn.Linear(8, c)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, emb):
        h = torch.nn.functional.silu(self.norm(x) + self.time(emb)[..., None, None])
        return x + self.conv(self.drop(h))


class TileNet(nn.Module):
    def __init__(self, bands=4, c=16, dropout=0.1):
        super().__init__()
        self.inp = nn.Conv2d(bands, c, 3, padding=1)
        self.blocks = nn.ModuleList(TimeBlock(c, dropout) for _ in range(2))
        self.out = nn.Conv2d(c, bands, 3, padding=1)
        self.register_buffer("freqs", 2.0 ** torch.arange(4))

    def forward(self, x, t):
        angle = t[:, None] * self.freqs
        emb = torch.cat([angle.sin(), angle.cos()], 1)
        h = self.inp(x)
        for block in self.blocks:
            h = block(h, emb)
        return self.out(h)
