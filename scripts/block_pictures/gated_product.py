"""How much of the layer after a gate is broken, for branches of every size, in float16."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from stethoscope.blocks.gated_product import safe_gate
from stethoscope.figures.chart import Chart, Line

STDS = (25.0, 50.0, 75.0, 100.0, 125.0, 150.0, 175.0, 200.0, 250.0, 300.0, 350.0, 400.0)
CHANNELS = 64


def picture() -> Chart:
    """Compare a plain gate, a gate in float32, and the safe one, by what the next convolution gives."""
    return Chart(
        title="gelu(a) * b in float16, then a 1 x 1 convolution",
        x_label="standard deviation of a and b",
        y_label="outputs that are not finite, %",
        lines=[
            Line("in float16", STDS, _broken(lambda a, b: functional.gelu(a) * b), tone="bad"),
            Line(
                "product in float32",
                STDS,
                _broken(lambda a, b: functional.gelu(a.float()) * b.float()),
                "dots",
                "muted",
            ),
            Line("safe_gate (this block)", STDS, _broken(lambda a, b: safe_gate(a, b).product), tone="good"),
            Line("elements it held back", STDS, _held(), "dotted"),
        ],
        note="float32 for the product alone changes nothing: the convolution converts it back.",
    )


def _broken(gate: Callable[[Tensor, Tensor], Tensor]) -> list[float]:
    torch.manual_seed(0)
    layer = nn.Conv2d(CHANNELS, CHANNELS, 1)
    with torch.autocast("cpu", dtype=torch.float16), torch.no_grad():
        outputs = [layer(gate(*_branches(std))) for std in STDS]
    return [100 * (~output.isfinite()).float().mean().item() for output in outputs]


def _held() -> list[float]:
    return [100 * safe_gate(*_branches(std)).saturated.item() / _branches(std)[0].numel() for std in STDS]


def _branches(std: float) -> tuple[Tensor, Tensor]:
    a, b = std * torch.randn(2, 1, CHANNELS, 32, 32, generator=torch.Generator().manual_seed(0))
    return a.half(), b.half()
