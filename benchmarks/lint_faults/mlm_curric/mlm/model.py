from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from .settings import ModelSettings


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = x.float()
        h = h * torch.rsqrt((h * h).mean(-1, keepdim=True) + self.eps)
        return (h * self.weight).to(x.dtype)


class Block(nn.Module):
    def __init__(self, cfg: ModelSettings) -> None:
        super().__init__()
        self.heads, self.p = cfg.heads, cfg.dropout
        self.norm1, self.norm2 = RMSNorm(cfg.dim), RMSNorm(cfg.dim)
        self.q_norm, self.k_norm = RMSNorm(cfg.dim // cfg.heads), RMSNorm(cfg.dim // cfg.heads)
        self.qkv, self.proj = nn.Linear(cfg.dim, 3 * cfg.dim, bias=False), nn.Linear(cfg.dim, cfg.dim, bias=False)
        self.ff = nn.Sequential(nn.Linear(cfg.dim, 4 * cfg.dim), nn.GELU(), nn.Linear(4 * cfg.dim, cfg.dim))
        self.drop = nn.Dropout(cfg.dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, n, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(self.q_norm(q), self.k_norm(k), v, dropout_p=self.p if self.training else 0.0)
        x = x + self.drop(self.proj(y.transpose(1, 2).reshape(b, n, d)))
        return x + self.drop(self.ff(self.norm2(x)))


class MaskedLM(nn.Module):
    def __init__(self, cfg: ModelSettings, max_length: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(cfg.vocab, cfg.dim)
        freqs = torch.exp(-math.log(1000.0) * torch.arange(0, cfg.dim, 2) / cfg.dim)
        angle = torch.arange(max_length)[:, None] * freqs
        self.register_buffer("place", torch.cat([angle.sin(), angle.cos()], 1), persistent=False)
        self.blocks = nn.ModuleList(Block(cfg) for _ in range(cfg.layers))
        self.norm = RMSNorm(cfg.dim)
        self.head = nn.Linear(cfg.dim, cfg.vocab)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids) + self.place[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def masked_nll(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits.float().flatten(0, 1), labels.flatten(), ignore_index=-100)
