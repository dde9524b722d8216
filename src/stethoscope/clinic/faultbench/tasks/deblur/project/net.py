"""The network: attention and feed-forward layers that work on the spectra of patches. Tensors are BCHW."""

import torch
from torch import nn
from torch.nn import functional as F


def to_patches(x, size):
    """B, C, rows, columns, size, size."""
    b, c, h, w = x.shape
    return x.reshape(b, c, h // size, size, w // size, size).transpose(3, 4)


def from_patches(x):
    b, c, rows, columns, size, _ = x.shape
    return x.transpose(3, 4).reshape(b, c, rows * size, columns * size)


class ChannelNorm(nn.Module):
    """A layer norm over the channels of each pixel."""

    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width, 1, 1))
        self.shift = nn.Parameter(torch.zeros(width, 1, 1))

    def forward(self, x):
        x = x.float()
        mean = x.mean(1, keepdim=True)
        variance = (x - mean).square().mean(1, keepdim=True)
        return (x - mean) / torch.sqrt(variance + 1e-5) * self.gain + self.shift


class SpectralAttention(nn.Module):
    """Weighs the values by the correlation of queries and keys inside each patch."""

    def __init__(self, width, patch):
        super().__init__()
        self.patch = patch
        self.qkv = nn.Conv2d(width, 3 * width, 1)
        self.local = nn.Conv2d(3 * width, 3 * width, 3, padding=1, groups=3 * width)
        self.norm = ChannelNorm(width)
        self.out = nn.Conv2d(width, width, 1)

    def forward(self, x):
        q, k, v = self.local(self.qkv(x)).chunk(3, dim=1)
        q, k = to_patches(q.float(), self.patch), to_patches(k.float(), self.patch)
        spectrum = torch.fft.rfft2(q) * torch.fft.rfft2(k).conj()
        matches = torch.fft.irfft2(spectrum, s=(self.patch, self.patch))
        return self.out(v * self.norm(from_patches(matches)))


class SpectralFeedForward(nn.Module):
    """A gated layer between two projections, with a weight for each frequency of a patch."""

    def __init__(self, width, patch, expansion=2):
        super().__init__()
        self.patch = patch
        self.enter = nn.Conv2d(width, 2 * expansion * width, 1)
        self.filter = nn.Parameter(torch.ones(2 * expansion * width, 1, 1, patch, patch // 2 + 1))
        self.local = nn.Conv2d(2 * expansion * width, 2 * expansion * width, 3, padding=1, groups=2 * expansion * width)
        self.out = nn.Conv2d(expansion * width, width, 1)

    def forward(self, x):
        patches = to_patches(self.enter(x).float(), self.patch)
        spectrum = torch.fft.rfft2(patches) * self.filter
        x = from_patches(torch.fft.irfft2(spectrum, s=(self.patch, self.patch)))
        gate, x = self.local(x).chunk(2, dim=1)
        return self.out(F.gelu(gate) * x)


class Block(nn.Module):
    """Attention, then feed-forward; in training each may be left out for a sample."""

    def __init__(self, width, patch, drop_path):
        super().__init__()
        self.drop_path = drop_path
        self.norm1, self.attention = ChannelNorm(width), SpectralAttention(width, patch)
        self.norm2, self.mlp = ChannelNorm(width), SpectralFeedForward(width, patch)

    def kept(self, branch):
        if not self.training or not self.drop_path:
            return branch
        keep = torch.rand(len(branch), 1, 1, 1) >= self.drop_path
        return branch * keep / (1.0 - self.drop_path)

    def forward(self, x):
        x = x + self.kept(self.attention(self.norm1(x)))
        return x + self.kept(self.mlp(self.norm2(x)))


class Deblur(nn.Module):
    """Adds to a blurred picture what the lens took away."""

    def __init__(self, width=10, blocks=2, patch=16, drop_path=0.0):
        super().__init__()
        self.enter = nn.Conv2d(1, width, 3, padding=1)
        self.blocks = nn.Sequential(*(Block(width, patch, drop_path) for _ in range(blocks)))
        self.leave = nn.Conv2d(width, 1, 3, padding=1)
        self.apply(initialise)
        for block in self.blocks:
            nn.init.normal_(block.attention.out.weight, std=0.02)
            nn.init.normal_(block.mlp.out.weight, std=0.02)
        nn.init.normal_(self.leave.weight, std=0.01)

    def forward(self, blurred):
        features = self.blocks(self.enter(2.0 * blurred - 1.0))
        return blurred + self.leave(features).float()


def initialise(module):
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, nonlinearity="linear")
        nn.init.zeros_(module.bias)
