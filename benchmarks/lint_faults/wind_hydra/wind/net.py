import math

import torch
import torch.nn.functional as F
from torch import nn


def time_embedding(t, dim):
    freq = torch.exp(-math.log(1000.0) * torch.arange(dim // 2, device=t.device) / (dim // 2))
    angle = t.float()[:, None] * freq
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


class GatedMLP(nn.Module):
    """GELU-gated block; the product and what sums it up stay in float32."""

    def __init__(self, dim, inner):
        super().__init__()
        self.up = nn.Linear(dim, 2 * inner)
        self.down = nn.Linear(inner, dim)

    def forward(self, x):
        value, gate = self.up(x).chunk(2, dim=-1)
        with torch.autocast(x.device.type, enabled=False):
            hidden = value.float() * F.gelu(gate.float())
            return self.down(hidden)


class Block(nn.Module):
    def __init__(self, width, dropout):
        super().__init__()
        self.norm1 = nn.GroupNorm(4, width)
        self.conv = nn.Conv1d(width, width, 5, padding=2)
        self.shift = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = GatedMLP(width, 2 * width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, emb):
        x = x + self.conv(F.silu(self.norm1(x) + self.shift(emb)[:, :, None]))
        h = self.mlp(self.norm2(x.transpose(1, 2)))
        return x + self.drop(h).transpose(1, 2)


class Denoiser(nn.Module):
    def __init__(self, channels, width, depth, dropout):
        super().__init__()
        self.width = width
        self.embed = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))
        self.inp = nn.Conv1d(channels, width, 3, padding=1)
        self.blocks = nn.ModuleList([Block(width, dropout) for _ in range(depth)])
        self.out = nn.Conv1d(width, channels, 3, padding=1)

    def forward(self, x, t):
        emb = self.embed(time_embedding(t, self.width))
        h = self.inp(x)
        for block in self.blocks:
            h = block(h, emb)
        return self.out(h)
