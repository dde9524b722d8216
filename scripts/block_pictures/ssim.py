"""An image that is trained towards its target with the similarity as a loss, and with 1 - similarity."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from stethoscope.blocks.pixel_loss import l1
from stethoscope.blocks.ssim import SSIMLoss, ssim_index
from stethoscope.figures.chart import Chart, Line, Tone

STEPS = 120
LEARNING_RATE = 2e-3
WEIGHT = 0.05  # of the super-resolution system, beside L1


def picture() -> Chart:
    """Follow SSIM and the loss while an image is fitted, with either sign."""
    right = SSIMLoss()
    signs: dict[str, tuple[Callable[[Tensor, Tensor], Tensor], Tone]] = {
        "L1 + .05 SSIM": (lambda x, y: ssim_index(x, y).mean(), "bad"),
        "L1 + .05 (1 - SSIM), this block": (right, "good"),
    }
    return Chart(
        title="The sign of an SSIM loss",
        x_label="step",
        y_label="SSIM with the target",
        lines=[
            Line(name, range(STEPS + 1), _fitted(loss), tone=tone) for name, (loss, tone) in signs.items()
        ],
        note="A blurred image, its pixels trained by Adam. Both training losses fall.",
    )


def _fitted(loss: Callable[[Tensor, Tensor], Tensor]) -> list[float]:
    target = torch.rand(1, 1, 48, 48, generator=torch.Generator().manual_seed(0))
    target = functional.avg_pool2d(target, 3, stride=1, padding=1)
    image = functional.avg_pool2d(target, 5, stride=1, padding=2).requires_grad_()
    optimizer = torch.optim.Adam([image], lr=LEARNING_RATE)
    seen = []
    for _ in range(STEPS):
        seen.append(ssim_index(image, target).item())
        optimizer.zero_grad()
        (l1(image, target) + WEIGHT * loss(image, target)).backward()
        optimizer.step()
    return [*seen, ssim_index(image, target).item()]
