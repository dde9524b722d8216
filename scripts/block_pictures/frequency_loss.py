"""The size of a frequency loss beside L1, for the same error on crops of different sides."""

from __future__ import annotations

import torch
from torch import Tensor

from stethoscope.blocks.frequency_loss import fft_l1
from stethoscope.blocks.pixel_loss import l1
from stethoscope.figures.chart import Chart, Line

SIDES = (16, 32, 64, 128, 256, 512)
WEIGHT = 0.1  # of the deblurring system
ERROR_STD = 0.02


def picture() -> Chart:
    """Compare three ways to size the loss on one kind of error."""
    errors = [_error(side) for side in SIDES]
    zeros = [torch.zeros_like(error) for error in errors]
    pixels = [l1(error, zero).item() for error, zero in zip(errors, zeros, strict=True)]
    plain = [torch.view_as_real(torch.fft.fft2(error)).abs().mean().item() for error in errors]
    ortho = [fft_l1(error, zero).item() for error, zero in zip(errors, zeros, strict=True)]
    ways = {
        "fft2 as it is": (plain, "bad"),
        "divided by H * W": (
            [value / side**2 for value, side in zip(plain, SIDES, strict=True)],
            "muted",
        ),
        "orthonormal (this block)": (ortho, "good"),
    }
    return Chart(
        title="The same error, crops of different sides",
        x_label="side of the crop, pixels",
        y_label="0.1 x frequency loss / L1",
        lines=[
            Line(
                name,
                SIDES,
                [WEIGHT * value / pixel for value, pixel in zip(values, pixels, strict=True)],
                tone=tone,
            )
            for name, (values, tone) in ways.items()
        ],
        log_x=True,
        log_y=True,
        note="White noise of standard deviation .02. Only one of the three keeps its balance with L1.",
    )


def _error(side: int) -> Tensor:
    return ERROR_STD * torch.randn(2, 3, side, side, generator=torch.Generator().manual_seed(side))
