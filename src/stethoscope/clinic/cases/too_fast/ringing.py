"""Bells that ring: how high and for how long, to be told from a few noisy samples."""

from __future__ import annotations

import torch
from torch import Tensor

SAMPLES = 16
NOISE = 0.05


def ring(count: int, chance: torch.Generator) -> tuple[Tensor, Tensor]:
    """The samples (time, value) of `count` bells, and their frequency and damping, each with variance 1."""
    frequency, damping, phase = torch.rand(3, count, 1, generator=chance)
    time = torch.linspace(0, 1, SAMPLES).expand(count, SAMPLES)
    angle = 2 * torch.pi * ((1 + 3 * frequency) * time + phase)
    value = torch.exp(-4 * damping * time) * torch.sin(angle)
    value = value + NOISE * torch.randn(count, SAMPLES, generator=chance)
    # A uniform variable between 0 and 1 has the variance 1/12.
    truth = (torch.cat((frequency, damping), 1) - 0.5) * 12**0.5
    return torch.stack((time, value), -1), truth
