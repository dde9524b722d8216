"""What is left of a float16 image after a norm, for inputs of every size."""

from __future__ import annotations

import torch
from torch import Tensor

from stethoscope.blocks.image_norm import image_layer_norm
from stethoscope.figures.chart import Chart, Line, Mark

STDS = [10 ** (exponent / 8) for exponent in range(-16, 33)]
EPS = 1e-5
SHAPE = (1, 192, 4, 4)


def picture() -> Chart:
    """Compare a norm written by hand in float16 with one that has float32 statistics."""
    inputs = [(std * torch.randn(SHAPE, generator=torch.Generator().manual_seed(0))).half() for std in STDS]
    return Chart(
        title="A norm should give 1",
        x_label="standard deviation of the input, float16",
        y_label="standard deviation of the output",
        lines=[
            Line(
                "float32 statistics (this block)",
                STDS,
                [_std(image_layer_norm(x)) for x in inputs],
                tone="good",
            ),
            Line("written by hand in float16", STDS, [_std(_by_hand(x)) for x in inputs], "dashed", "bad"),
        ],
        marks=[Mark(256.0, "variance is 65536")],
        log_x=True,
        y_limits=(0.0, 1.2),
        note="Beyond 256 the variance is infinity and the output exactly 0: nothing is NaN or noticed.",
    )


def _by_hand(x: Tensor) -> Tensor:
    return (x - x.mean(1, keepdim=True)) / torch.sqrt(x.var(1, keepdim=True, unbiased=False) + EPS)


def _std(x: Tensor) -> float:
    return x.float().std().item()
