"""Blocks of a frequency-domain deblurring network."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ChannelNorm(nn.Module):
    """Layer norm over the channels of an image, in float32 whatever comes in."""

    def __init__(self, channels: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(channels, 1, 1))
        self.bias = nn.Parameter(torch.zeros(channels, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        h = x.float()
        mean = h.mean(dim=1, keepdim=True)
        var = (h - mean).pow(2).mean(dim=1, keepdim=True)
        h = (h - mean) / torch.sqrt(var + self.eps)
        return (self.weight * h + self.bias).to(x.dtype)


class SpectralFilter(nn.Module):
    """A learned filter on 8x8 patches."""

    def __init__(self, channels: int, patch: int = 8) -> None:
        super().__init__()
        self.patch = patch
        self.project_in = nn.Conv2d(channels, channels, 1)
        self.filter = nn.Parameter(torch.ones(channels, 1, 1, patch, patch // 2 + 1))
        self.project_out = nn.Conv2d(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.project_in(x)
        b, c, h, w = x.shape
        p = self.patch
        patches = x.view(b, c, h // p, p, w // p, p).transpose(3, 4)
        spectrum = torch.fft.rfft2(patches.float(), norm="ortho")
        patches = torch.fft.irfft2(spectrum * self.filter, s=(p, p), norm="ortho")
        return self.project_out(patches.transpose(3, 4).reshape(b, c, h, w))


class GatedFeedForward(nn.Module):
    def __init__(self, channels: int, expansion: int = 2) -> None:
        super().__init__()
        hidden = channels * expansion
        self.expand = nn.Conv2d(channels, 2 * hidden, 1)
        self.depthwise = nn.Conv2d(2 * hidden, 2 * hidden, 3, padding=1, groups=2 * hidden)
        self.reduce = nn.Conv2d(hidden, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        value, gate = self.depthwise(self.expand(x)).chunk(2, dim=1)
        return self.reduce(F.gelu(value) * torch.sigmoid(gate))


class ChannelScale(nn.Module):
    """Divides each channel by its mean magnitude."""

    def forward(self, x: Tensor) -> Tensor:
        magnitude = x.float().abs().mean(dim=(2, 3), keepdim=True)
        return (x.float() / (magnitude + 1e-8)).to(x.dtype)


class Block(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = ChannelNorm(channels), ChannelNorm(channels)
        self.spectral = SpectralFilter(channels)
        self.scale = ChannelScale()
        self.ffn = GatedFeedForward(channels)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.spectral(self.norm1(x))
        return x + self.ffn(self.scale(self.norm2(x)))


class DeblurNet(nn.Module):
    def __init__(self, channels: int = 16, blocks: int = 2) -> None:
        super().__init__()
        self.embed = nn.Conv2d(3, channels, 3, padding=1)
        self.body = nn.Sequential(*[Block(channels) for _ in range(blocks)])
        self.to_rgb = nn.Conv2d(channels, 3, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        h = self.body(self.embed(x))
        # the residual is small: keep its last layer in full precision
        with torch.autocast(x.device.type, enabled=False):
            residual = self.to_rgb(h.float())
        return x + residual
