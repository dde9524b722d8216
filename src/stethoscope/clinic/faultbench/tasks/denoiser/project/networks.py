"""A small network that is told the noise level, and the preconditioning of EDM around it."""

import math

import torch
import torch.nn.functional as F
from torch import nn


def zero_init(layer):
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


class LevelEmbedding(nn.Module):
    """Sines and cosines of the noise level, through two linear layers."""

    def __init__(self, dim, features=16):
        super().__init__()
        self.register_buffer("freqs", math.pi * 2.0 ** torch.linspace(-2, 3, features // 2))
        self.map0 = nn.Linear(features, dim)
        self.map1 = nn.Linear(dim, dim)

    def forward(self, c_noise):
        angles = c_noise[:, None] * self.freqs
        x = torch.cat([angles.cos(), angles.sin()], dim=1)
        return F.silu(self.map1(F.silu(self.map0(x))))


class ResBlock(nn.Module):
    """Two convolutions around a shortcut; the noise level scales and shifts what is between them."""

    def __init__(self, width, emb_dim, dropout):
        super().__init__()
        self.norm = nn.GroupNorm(4, width)
        self.conv0 = nn.Conv2d(width, width, 3, padding=1)
        self.affine = nn.Linear(emb_dim, 2 * width)
        self.drop = nn.Dropout(dropout)
        self.conv1 = zero_init(nn.Conv2d(width, width, 3, padding=1))

    def forward(self, x, emb):
        h = self.conv0(F.silu(self.norm(x)))
        scale, shift = self.affine(emb)[:, :, None, None].chunk(2, dim=1)
        h = F.silu(h * (1 + scale) + shift)
        return x + self.conv1(self.drop(h))


class PatchNet(nn.Module):
    """Residual blocks over patches of 2 x 2 pixels; what comes out is zero before training."""

    def __init__(self, channels=3, width=32, blocks=2, dropout=0.0):
        super().__init__()
        emb_dim = 2 * width
        self.embed = LevelEmbedding(emb_dim)
        self.stem = nn.Conv2d(4 * channels, width, 3, padding=1)
        self.blocks = nn.ModuleList([ResBlock(width, emb_dim, dropout) for _ in range(blocks)])
        self.head = zero_init(nn.Conv2d(width, 4 * channels, 3, padding=1))

    def forward(self, x, c_noise):
        emb = self.embed(c_noise)
        h = self.stem(F.pixel_unshuffle(x, 2))
        for block in self.blocks:
            h = block(h, emb)
        return F.pixel_shuffle(self.head(F.silu(h)), 2)


class Denoiser(nn.Module):
    """D(x; sigma) of Karras et al. 2022, table 1."""

    def __init__(self, channels=3, width=32, blocks=2, dropout=0.0, sigma_data=0.5):
        super().__init__()
        self.sigma_data = sigma_data
        self.model = PatchNet(channels, width, blocks, dropout)

    def forward(self, x, sigma):
        sigma = sigma.reshape(-1, 1, 1, 1)
        variance = sigma**2 + self.sigma_data**2
        c_skip = self.sigma_data**2 / variance
        c_out = sigma * self.sigma_data / variance.sqrt()
        c_in = 1 / variance.sqrt()
        c_noise = sigma.log() / 4
        out = self.model(c_in * x, c_noise.flatten())
        return c_skip * x + c_out * out.float()
