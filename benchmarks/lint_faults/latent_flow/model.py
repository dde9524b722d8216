"""A small DiT over 4-channel latents, conditioned on time and class."""
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-5):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        h = x.float()
        h = h * torch.rsqrt((h * h).mean(-1, keepdim=True) + self.eps)
        return (h * self.scale).to(x.dtype)


class SwiGLU(nn.Module):
    def __init__(self, dim: int, hidden: int):
        super().__init__()
        self.gate = nn.Linear(dim, hidden, bias=False)
        self.up = nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.gate(x), self.up(x)
        with torch.autocast(x.device.type, enabled=False):
            hidden = F.silu(gate.float()) * up.float()
            return self.down(hidden).to(x.dtype)


class Attention(nn.Module):
    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(b, n, d))


class Block(nn.Module):
    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(dim), RMSNorm(dim)
        self.attn = Attention(dim, heads)
        self.mlp = SwiGLU(dim, dim * 8 // 3)
        self.modulation = nn.Linear(dim, 4 * dim)

    def forward(self, x: Tensor, c: Tensor) -> Tensor:
        a1, b1, a2, b2 = self.modulation(F.silu(c))[:, None].chunk(4, dim=-1)
        x = x + self.attn(self.norm1(x) * (1 + a1) + b1)
        return x + self.mlp(self.norm2(x) * (1 + a2) + b2)


def timestep_embedding(t: Tensor, dim: int) -> Tensor:
    freqs = torch.exp(-math.log(10_000) * torch.arange(dim // 2, device=t.device) / (dim // 2))
    args = 1000 * t.float()[:, None] * freqs
    return torch.cat([args.cos(), args.sin()], dim=-1)


class VelocityNet(nn.Module):
    def __init__(self, dim: int, depth: int, heads: int, classes: int, size: int = 8, channels: int = 4):
        super().__init__()
        self.size, self.channels, self.null = size, channels, classes
        self.embed = nn.Linear(channels, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(1, size * size, dim))
        self.time = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.label = nn.Embedding(classes + 1, dim)
        self.blocks = nn.ModuleList([Block(dim, heads) for _ in range(depth)])
        self.norm = RMSNorm(dim)
        self.head = nn.Linear(dim, channels)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, x: Tensor, t: Tensor, y: Tensor) -> Tensor:
        b = x.shape[0]
        h = self.embed(x.flatten(2).transpose(1, 2))
        h = h + self.pos.to(h.dtype)
        c = self.time(timestep_embedding(t, self.pos.shape[-1])) + self.label(y)
        for block in self.blocks:
            h = block(h, c)
        v = self.head(self.norm(h))
        return v.transpose(1, 2).reshape(b, self.channels, self.size, self.size)
