"""A transformer encoder that knows the fold and how much of the sequence is hidden."""

import math

import torch
from torch import nn

from inverse_folding.corpus import VOCABULARY


class LevelEmbedding(nn.Module):
    """Sines and cosines of the noise level, mixed."""

    def __init__(self, width, count=16):
        super().__init__()
        self.register_buffer("frequencies", torch.exp(torch.linspace(0.0, math.log(50.0), count)))
        self.mix = nn.Sequential(nn.Linear(2 * count, width), nn.SiLU(), nn.Linear(width, width))

    def forward(self, level):
        angles = level[:, None] * self.frequencies
        return self.mix(torch.cat([angles.sin(), angles.cos()], dim=1))


class SelfAttention(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads = heads
        self.scale = (width // heads) ** -0.5
        self.to_qkv = nn.Linear(width, 3 * width, bias=False)
        self.to_out = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, real):
        n, length, width = x.shape
        q, k, v = self.to_qkv(x).view(n, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = (q * self.scale) @ k.transpose(-2, -1)
        scores = scores.float().masked_fill(~real[:, None, None, :], -1e4)
        mixed = scores.softmax(-1).to(v.dtype) @ v
        return self.dropout(self.to_out(mixed.transpose(1, 2).reshape(n, length, width)))


class Block(nn.Module):
    def __init__(self, width, heads, dropout, norm_first):
        super().__init__()
        self.norm_first = norm_first
        self.norm_attention, self.norm_feed = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = SelfAttention(width, heads, dropout)
        self.feed = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x, real):
        if self.norm_first:
            x = x + self.attention(self.norm_attention(x), real)
            return x + self.feed(self.norm_feed(x))
        x = self.norm_attention(x + self.attention(x, real))
        return self.norm_feed(x + self.feed(x))


class SequenceDenoiser(nn.Module):
    """Logits of every residue and its B-factor, from what is left of a sequence."""

    def __init__(self, width=32, depth=2, heads=4, dropout=0.0, norm_first=True, longest=24):
        super().__init__()
        self.residues = nn.Embedding(VOCABULARY, width)
        self.positions = nn.Embedding(longest, width)
        self.exposure = nn.Linear(1, width)
        self.level = LevelEmbedding(width)
        self.neighbours = nn.Conv1d(width, width, 7, padding=3)
        self.blocks = nn.ModuleList(Block(width, heads, dropout, norm_first) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.to_residue = nn.Linear(width, VOCABULARY)
        self.to_b_factor = nn.Linear(width, 1)
        self.apply(self._initialise)

    @staticmethod
    def _initialise(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.05)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, noisy, level, exposure, real):
        place = torch.arange(noisy.shape[1])
        x = self.residues(noisy) + self.positions(place) + self.exposure(exposure[..., None])
        x = x + self.level(level)[:, None, :]
        x = x + self.neighbours((x * real[..., None]).transpose(1, 2)).transpose(1, 2)
        for block in self.blocks:
            x = block(x, real)
        x = self.norm(x)
        sharpness = 1.6 - level  # the less is hidden, the surer
        logits = self.to_residue(x) * sharpness[:, None, None]
        return logits, self.to_b_factor(x).squeeze(-1)
