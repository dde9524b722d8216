import torch
import torch.nn as nn
import torch.nn.functional as F


class RootMeanSquare(nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(features))
        self.eps = eps

    def forward(self, x):
        # squares of activations leave the range of half precision early
        energy = x.to(torch.float32).square().mean(dim=-1, keepdim=True)
        return (x.to(torch.float32) * torch.rsqrt(energy + self.eps) * self.scale).type_as(x)


class FrequencyMixer(nn.Module):
    """Mixes along time by a product in the frequency domain."""

    def __init__(self, frames, features):
        super().__init__()
        self.kernel = nn.Parameter(torch.ones(frames // 2 + 1, features))
        self.inner = nn.Linear(features, features)

    def forward(self, x):
        h = self.inner(x)
        spectrum = torch.fft.rfft(h.to(torch.float32), dim=1, norm="ortho")
        return torch.fft.irfft(spectrum * self.kernel, n=x.shape[1], dim=1, norm="ortho").type_as(x)


class GatedUnit(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.to_hidden = nn.Linear(features, 4 * features)
        self.to_out = nn.Linear(2 * features, features)

    def forward(self, x):
        return self.to_out(F.glu(self.to_hidden(x), dim=-1))


class Vocoder(nn.Module):
    def __init__(self, frames, bins, features=24, depth=2):
        super().__init__()
        self.inp = nn.Linear(bins, features)
        self.norms = nn.ModuleList(RootMeanSquare(features) for _ in range(2 * depth))
        self.mixers = nn.ModuleList(FrequencyMixer(frames, features) for _ in range(depth))
        self.units = nn.ModuleList(GatedUnit(features) for _ in range(depth))
        self.out = nn.Linear(features, bins)

    def forward(self, spec):
        x = self.inp(spec)
        for i, (mixer, unit) in enumerate(zip(self.mixers, self.units)):
            x = x + mixer(self.norms[2 * i](x))
            x = x + unit(self.norms[2 * i + 1](x))
        with torch.amp.autocast(spec.device.type, enabled=False):
            return F.linear(x.float(), self.out.weight, self.out.bias)
