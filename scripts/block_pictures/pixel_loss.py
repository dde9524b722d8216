"""What is logged for one real channel with an error of .2, the more channels of padding stand beside it."""

from __future__ import annotations

import torch

from stethoscope.blocks.pixel_loss import l1
from stethoscope.figures.chart import Chart, Level, Line

PADDED = range(8)
ERROR = 0.2


def picture() -> Chart:
    """Compare a plain mean with one over what counts."""
    plain, masked = zip(*(_losses(padded) for padded in PADDED), strict=True)
    return Chart(
        title="One real channel, the rest is padding",
        x_label="channels of padding",
        y_label="L1 that is logged",
        lines=[
            Line("mean over everything", PADDED, plain, tone="bad"),
            Line("mean over what counts (this block)", PADDED, masked, tone="good"),
        ],
        levels=[Level(ERROR, "error of the real channel")],
        y_limits=(0.0, 0.25),
        note="Padding is predicted without error: three channels of it make a loss look four times better.",
    )


def _losses(padded: int) -> tuple[float, float]:
    target = torch.zeros(1, 1 + padded, 16, 16)
    prediction = target.clone()
    prediction[:, 0] = ERROR
    real = torch.zeros(1, 1 + padded, 1, 1)
    real[:, 0] = 1
    return l1(prediction, target).item(), l1(prediction, target, weight=real).item()
