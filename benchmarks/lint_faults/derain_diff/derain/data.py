from __future__ import annotations

import torch
from torch.utils.data import Dataset


class RainPairs(Dataset):
    """Pairs (rainy, clean) of smooth colour images, both in [-1, 1]."""

    def __init__(self, n: int, size: int, seed: int, augment: bool = False) -> None:
        self.n, self.size, self.seed, self.augment = n, size, seed, augment

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> tuple[torch.Tensor, torch.Tensor]:
        g = torch.Generator().manual_seed(self.seed * 65_537 + i)
        coarse = torch.rand(1, 3, 4, 4, generator=g)
        clean = torch.nn.functional.interpolate(coarse, size=(self.size, self.size), mode="bilinear", align_corners=False)[0]
        streaks = (torch.rand(1, 1, self.size, generator=g) > 0.85).float() * torch.rand(1, self.size, 1, generator=g)
        rainy = (clean + 0.5 * streaks).clamp(0, 1)
        if self.augment and torch.rand(()) < 0.5:
            clean, rainy = clean.flip(-1), rainy.flip(-1)
        return rainy * 2 - 1, clean * 2 - 1
