"""Two days of hourly wind at a mast: speed (m/s) and gust factor."""
from dataclasses import dataclass

import torch
from torch.utils.data import Dataset


@dataclass
class Standardizer:
    mean: torch.Tensor
    std: torch.Tensor

    @classmethod
    def fit(cls, series):
        return cls(series.mean(dim=(0, 2), keepdim=True)[0], series.std(dim=(0, 2), keepdim=True)[0])

    def __call__(self, x):
        return (x - self.mean) / self.std

    def inverse(self, z):
        return z * self.std.to(z.device) + self.mean.to(z.device)


def simulate(days, hours, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(hours) / 24.0
    phase = 6.28 * torch.rand(days, 1, generator=g)
    base = 6 + 2 * torch.rand(days, 1, generator=g)
    speed = base + 2.5 * torch.sin(6.28 * t + phase) + 0.4 * torch.randn(days, hours, generator=g)
    gust = 1.3 + 0.05 * (speed - 6) + 0.03 * torch.randn(days, hours, generator=g)
    return torch.stack([speed.clamp(min=0), gust], dim=1)


class WindDays(Dataset):
    def __init__(self, series, scale):
        self.series, self.scale = series, scale

    def __len__(self):
        return len(self.series)

    def __getitem__(self, i):
        return self.scale(self.series[i])


def build_datasets(cfg, seed):
    series = simulate(cfg.days + cfg.val_days, cfg.hours, seed)
    train, val = series[: cfg.days], series[cfg.days :]
    scale = Standardizer.fit(train)
    return WindDays(train, scale), WindDays(val, scale), scale
