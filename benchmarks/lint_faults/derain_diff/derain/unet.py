from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn


def time_features(t: torch.Tensor, dim: int) -> torch.Tensor:
    freqs = torch.exp(-math.log(10_000) * torch.arange(dim // 2, device=t.device) / (dim // 2))
    angles = t.float()[:, None] * freqs
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class ResBlock(nn.Module):
    def __init__(self, cin: int, cout: int, tdim: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(4, cin), nn.Conv2d(cin, cout, 3, padding=1)
        self.time = nn.Linear(tdim, cout)
        self.norm2, self.conv2 = nn.GroupNorm(4, cout), nn.Conv2d(cout, cout, 3, padding=1)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x: torch.Tensor, emb: torch.Tensor) -> torch.Tensor:
        h = self.conv1(F.silu(self.norm1(x))) + self.time(emb)[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(h)))


class LinearAttention(nn.Module):
    """Attention with the feature map elu + 1, linear in the number of pixels."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(4, dim)
        self.qkv, self.out = nn.Conv2d(dim, 3 * dim, 1), nn.Conv2d(dim, dim, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, c, h, w = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(b, 3, self.heads, c // self.heads, h * w).unbind(1)
        with torch.autocast(x.device.type, enabled=False):
            q, k, v = F.elu(q.float()) + 1, F.elu(k.float()) + 1, v.float()
            context = torch.einsum("bhdn,bhen->bhde", k, v)
            norm = torch.einsum("bhdn,bhd->bhn", q, k.sum(-1))
            y = torch.einsum("bhdn,bhde->bhen", q, context) / (norm.unsqueeze(2) + 1e-6)
        return x + self.out(y.reshape(b, c, h, w))


class GatedMLP(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(4, dim)
        self.up, self.down = nn.Conv2d(dim, 4 * dim, 1), nn.Conv2d(2 * dim, dim, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        value, gate = self.up(self.norm(x)).chunk(2, dim=1)
        with torch.autocast(x.device.type, enabled=False):
            hidden = value.float() * F.gelu(gate.float())
            y = F.conv2d(hidden, self.down.weight.float(), self.down.bias.float())
        return x + y


class DerainNet(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.width = width
        self.time = nn.Sequential(nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, 2 * width))
        self.stem = nn.Conv2d(6, width, 3, padding=1)
        self.enc = ResBlock(width, width, 2 * width)
        self.down = nn.Conv2d(width, 2 * width, 4, stride=2, padding=1)
        self.mid1, self.attn = ResBlock(2 * width, 2 * width, 2 * width), LinearAttention(2 * width, heads)
        self.mlp, self.mid2 = GatedMLP(2 * width), ResBlock(2 * width, 2 * width, 2 * width)
        self.dec = ResBlock(3 * width, width, 2 * width)
        self.out = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x: torch.Tensor, rainy: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        emb = self.time(time_features(t, self.width))
        skip = self.enc(self.stem(torch.cat([x, rainy], dim=1)), emb)
        h = self.attn(self.mid1(self.down(skip), emb))
        h = self.mid2(self.mlp(h), emb)
        h = F.interpolate(h, scale_factor=2.0, mode="nearest")
        return self.out(self.dec(torch.cat([h, skip], dim=1), emb))
