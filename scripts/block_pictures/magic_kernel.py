"""The border of a flat image after it was enlarged, with zeros beyond it and with copies of its pixels."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from stethoscope.blocks.magic_kernel import magic_upsample
from stethoscope.figures.chart import Chart, Line

SIDE = 12
SCALE = 2
BLEND = 0.4  # of the super-resolution system
HALF_BAND = (-1, 0, 9, 16, 9, 0, -1)
BLUR = (1, 4, 6, 4, 1)


def picture() -> Chart:
    """Compare the outermost row of two enlargements."""
    flat = torch.ones(1, 1, SIDE, SIDE)
    pixels = range(SIDE * SCALE)
    zeros = _padded_with_zeros(flat)
    return Chart(
        title="A flat image of 1, enlarged by 2",
        x_label="pixel of a row",
        y_label="value",
        lines=[
            Line("zeros beyond the border, middle row", pixels, zeros[0, 0, SIDE], tone="bad"),
            Line("zeros beyond the border, first row", pixels, zeros[0, 0, 0], "dashed", "bad"),
            Line("this block, every row", pixels, magic_upsample(flat, SCALE)[0, 0, 0], tone="good"),
        ],
        y_limits=(0.0, 1.2),
        note="A network that adds detail to such a base must first learn to repair its border.",
    )


def _padded_with_zeros(x: Tensor) -> Tensor:
    """Enlarge as the super-resolution system did: a blended filter, repetition, a blur."""
    blended = (1 - BLEND) * x + BLEND * _filtered(x, HALF_BAND)
    return _filtered(functional.interpolate(blended, scale_factor=float(SCALE), mode="nearest"), BLUR)


def _filtered(x: Tensor, weights: tuple[int, ...]) -> Tensor:
    row = torch.tensor(weights, dtype=x.dtype) / sum(weights)
    reach = len(weights) // 2
    tall = functional.conv2d(x, row.view(1, 1, -1, 1), padding=(reach, 0))
    return functional.conv2d(tall, row.view(1, 1, 1, -1), padding=(0, reach))
