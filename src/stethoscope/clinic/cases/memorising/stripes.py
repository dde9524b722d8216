"""Pictures of stripes in eight directions, drawn when asked for, and labels of which some are guessed."""

from __future__ import annotations

import math

import torch
from torch import Tensor

SIZE = 16  # pixels on a side
CLASSES = 8
GRAIN = 0.15  # standard deviation of the noise; the stripes have .5 to 1
GUESSED = 0.3  # share of labels for which nobody looked at the picture


def draw(count: int, seed: int, guessed: float = GUESSED) -> tuple[Tensor, Tensor]:
    """`count` pictures of one channel, and their labels."""
    chance = torch.Generator().manual_seed(seed)
    labels = torch.randint(CLASSES, (count,), generator=chance)
    frequency, phase, contrast = torch.rand(3, count, 1, 1, generator=chance)
    angle = (labels * math.pi / CLASSES).view(-1, 1, 1)
    y, x = torch.meshgrid(torch.arange(SIZE) / SIZE, torch.arange(SIZE) / SIZE, indexing="ij")
    along = x * torch.cos(angle) + y * torch.sin(angle)
    waves = torch.sin(2 * math.pi * ((2 + 2 * frequency) * along + phase))
    grain = GRAIN * torch.randn(count, SIZE, SIZE, generator=chance)
    pictures = (0.5 + 0.5 * contrast) * waves + grain
    careless = torch.rand(count, generator=chance) < guessed
    drawn = torch.randint(CLASSES, (count,), generator=chance)
    return pictures.unsqueeze(1), torch.where(careless, drawn, labels)
