import torch
from torch import nn


class GatedBlock(nn.Module):
    def __init__(self, ch, dilation, dropout):
        super().__init__()
        self.conv = nn.Conv1d(ch, 2 * ch, 5, padding=2 * dilation, dilation=dilation)
        self.norm = nn.GroupNorm(4, ch)
        self.drop = nn.Dropout(dropout)
        self.proj = nn.Conv1d(ch, ch, 1)

    def forward(self, x):
        a, b = self.conv(self.norm(x)).chunk(2, dim=1)
        return x + self.proj(self.drop(torch.tanh(a) * torch.sigmoid(b)))


class SpectralMix(nn.Module):
    """A learned gain per channel and frequency, so that hum can be cut out over the whole strip."""

    def __init__(self, ch, length):
        super().__init__()
        self.gain = nn.Parameter(torch.zeros(ch, length // 2 + 1))

    def forward(self, x):
        with torch.autocast(x.device.type, enabled=False):
            spectrum = torch.fft.rfft(x.float(), dim=-1)
            return x + torch.fft.irfft(spectrum * self.gain, n=x.shape[-1], dim=-1)


class Denoiser(nn.Module):
    def __init__(self, leads, length, ch=24, depth=4, dropout=0.05):
        super().__init__()
        self.inp = nn.Conv1d(leads, ch, 7, padding=3)
        self.mix = SpectralMix(ch, length)
        self.blocks = nn.ModuleList(GatedBlock(ch, 2**i, dropout) for i in range(depth))
        self.out = nn.Conv1d(ch, leads, 7, padding=3)

    def forward(self, x):
        h = self.mix(self.inp(x))
        for block in self.blocks:
            h = block(h)
        return x - self.out(h)
