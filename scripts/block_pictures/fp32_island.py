"""A product of matrices under autocast, in half, after a conversion alone, and in an island."""

from __future__ import annotations

import torch
from torch import Tensor

from stethoscope.blocks.fp32_island import fp32_island
from stethoscope.figures.chart import Chart, Level, Line

SIZES = [2.0**exponent for exponent in range(-2, 11)]
WIDTH = 64
LARGEST = 65504.0  # of float16


def picture() -> Chart:
    """Follow the largest element of a product as its factors grow."""
    island = fp32_island(_largest)
    factors = [torch.full((WIDTH, WIDTH), size, dtype=torch.float16) for size in SIZES]
    with torch.autocast("cpu", dtype=torch.float16):
        half = [_largest(x) for x in factors]
        converted = [_largest(x.float()) for x in factors]
        wide = [island(x) for x in factors]
    return Chart(
        title="x @ x under autocast to float16",
        x_label="size of the elements of x (64 x 64)",
        y_label="size of the elements of the product",
        lines=[
            Line("island (this block)", SIZES, wide, tone="good"),
            Line("x.float() alone", SIZES, converted, "dashed", "bad"),
            Line("as it is", SIZES, half, "dots", "muted"),
        ],
        levels=[Level(LARGEST, "largest float16")],
        log_x=True,
        log_y=True,
        note="A line that ends has become infinity. Autocast takes the conversion back.",
    )


def _largest(x: Tensor) -> float:
    return (x @ x).max().item()
