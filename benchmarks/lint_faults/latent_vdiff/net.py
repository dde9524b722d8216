import math

import torch
from torch import nn


def time_features(t, dim):
    half = dim // 2
    freqs = torch.exp(-math.log(1000.0) * torch.arange(half, device=t.device, dtype=torch.float32) / half)
    args = t.float()[:, None] * freqs[None]
    return torch.cat([args.cos(), args.sin()], dim=-1)


class Block(nn.Module):
    def __init__(self, hidden, dilation):
        super().__init__()
        self.norm = nn.GroupNorm(4, hidden)
        self.conv = nn.Conv1d(hidden, hidden, 3, padding=dilation, dilation=dilation)
        self.time = nn.Linear(hidden, hidden)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Conv1d(hidden, hidden, 1)

    def forward(self, x, temb):
        h = self.conv(nn.functional.silu(self.norm(x))) + self.time(temb)[:, :, None]
        return x + self.out(self.drop(nn.functional.silu(h)))


class Denoiser(nn.Module):
    def __init__(self, channels, hidden, blocks):
        super().__init__()
        self.hidden = hidden
        self.inp = nn.Conv1d(channels, hidden, 3, padding=1)
        self.blocks = nn.ModuleList(Block(hidden, 2**i) for i in range(blocks))
        self.outp = nn.Conv1d(hidden, channels, 3, padding=1)

    def forward(self, x, t):
        temb = time_features(t, self.hidden)
        h = self.inp(x)
        for block in self.blocks:
            h = block(h, temb)
        return self.outp(h)
