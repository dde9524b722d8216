import torch
import torch.nn.functional as F
from torch import nn


def standardise(x, eps=1e-5):
    """Zero mean and unit deviation over the last axis."""
    h = x.float()
    centred = h - h.mean(dim=-1, keepdim=True)
    deviation = centred.square().mean(dim=-1, keepdim=True).add(eps).sqrt()
    return (centred / deviation).to(x.dtype)


class SpectralMixing(nn.Module):
    """A learned filter over the frequencies of the context."""

    def __init__(self, context, width):
        super().__init__()
        self.project = nn.Linear(width, width)
        self.gain = nn.Parameter(torch.ones(context // 2 + 1, width))

    def forward(self, x):
        h = self.project(x)
        with torch.autocast(x.device.type, enabled=False):
            spectrum = torch.fft.rfft(h.float(), dim=1, norm="ortho") * self.gain
            return torch.fft.irfft(spectrum, n=h.shape[1], dim=1, norm="ortho")


class Attention(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        h = F.scaled_dot_product_attention(standardise(q), standardise(k), v)
        return self.out(h.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.inner_norm = nn.LayerNorm(2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        gate, value = self.up(x).chunk(2, dim=-1)
        return self.down(self.inner_norm(F.silu(gate.float()) * value.float()))


class Layer(nn.Module):
    def __init__(self, context, width, dropout):
        super().__init__()
        self.parts = nn.ModuleList([SpectralMixing(context, width), Attention(width), FeedForward(width)])
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in self.parts)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        for norm, part in zip(self.norms, self.parts):
            x = x + self.dropout(part(norm(x)))
        return x


class Forecaster(nn.Module):
    def __init__(self, context, horizon, width, layers, dropout):
        super().__init__()
        self.embed = nn.Linear(1, width)
        self.place = nn.Parameter(0.02 * torch.randn(context, width))
        self.layers = nn.Sequential(*(Layer(context, width, dropout) for _ in range(layers)))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Flatten(1), nn.Linear(context * width, horizon))

    def forward(self, past):
        return self.head(self.layers(self.embed(past[..., None]) + self.place))
