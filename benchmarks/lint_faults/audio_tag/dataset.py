import math

import torch
from torch.utils.data import Dataset


def fit_channels(wave, channels=2):
    """Bring a recording to two channels."""
    if wave.shape[0] == channels:
        return wave
    if wave.shape[0] == 1:
        return wave.expand(channels, -1)
    return wave[:channels]


def random_crop(wave, length):
    if wave.shape[-1] <= length:
        return torch.nn.functional.pad(wave, (0, length - wave.shape[-1]))
    start = int(torch.randint(0, wave.shape[-1] - length + 1, ()))
    return wave[..., start:start + length]


class TaggedClips(Dataset):
    """Mixtures of tones; a tag says that its tone is there. Every third clip is mono."""

    def __init__(self, n, cfg, seed, training):
        self.n, self.cfg, self.seed, self.training = n, cfg, seed, training
        self.crop = int(cfg["crop_seconds"] * cfg["sample_rate"])

    def __len__(self):
        return self.n

    def read(self, i):
        g = torch.Generator().manual_seed(self.seed + i)
        seconds = 0.6 + 0.4 * float(torch.rand((), generator=g))
        t = torch.arange(int(seconds * self.cfg["sample_rate"])) / self.cfg["sample_rate"]
        tags = (torch.rand(self.cfg["n_tags"], generator=g) < 0.4).float()
        wave = 0.05 * torch.randn(1 if i % 3 == 0 else 2, len(t), generator=g)
        for k in range(self.cfg["n_tags"]):
            wave = wave + tags[k] * 0.3 * torch.sin(2 * math.pi * (300 + 450 * k) * t)
        return wave, tags

    def __getitem__(self, i):
        wave, tags = self.read(i)
        wave = fit_channels(wave)
        if self.training:
            wave = random_crop(wave, self.crop)
            wave = wave * (0.7 + 0.6 * torch.rand(()))
        return wave.contiguous(), tags
