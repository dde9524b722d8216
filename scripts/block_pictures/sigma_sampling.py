"""The loss of a model that does not change: one batch at a time, and by ranges of noise."""

from __future__ import annotations

import torch
from torch import Tensor

from stethoscope.blocks.sigma_sampling import LogNormal, SigmaBuckets, sample_sigmas
from stethoscope.figures.chart import Chart, Level, Line

BATCH, LINES, BATCHES_PER_LINE = 4, 180, 100
PIXELS = 64
RANGES = {"below_0.1": "noise below .1", "0.1_1": "noise .1 to 1", "1_3": "noise 1 to 3"}
RARE = "above_3"  # about 11 samples in each line of the log


def picture() -> Chart:
    """Log an untrained model as the diffusion prior logged its own, and as `SigmaBuckets` does."""
    generator = torch.Generator().manual_seed(0)
    single: list[float] = []
    ranges: dict[str, list[float]] = {name: [] for name in (*RANGES, RARE)}
    buckets = SigmaBuckets([0.1, 1.0, 3.0])
    for _ in range(LINES):
        sigma = sample_sigmas(LogNormal(), BATCH * BATCHES_PER_LINE, generator=generator)
        losses = untrained_losses(sigma, generator)
        single.append(losses[-BATCH:].mean().item())
        buckets.update(losses, sigma)
        logged = buckets.summary()
        for name, values in ranges.items():
            values.append(logged[f"loss/sigma_{name}"])
        buckets.reset()
    steps = torch.arange(1, LINES + 1) * BATCHES_PER_LINE
    return Chart(
        title="A model that does not change, logged in two ways",
        x_label="step",
        y_label="loss",
        lines=[
            Line("one batch of four", steps, single, style="dots", tone="bad"),
            *(Line(text, steps, ranges[name]) for name, text in RANGES.items()),
            Line("noise above 3", steps, ranges[RARE], style="dotted", tone="muted"),
        ],
        levels=[Level(6.74, '6.74: "diverged"')],
        log_y=True,
        note=f"The single batches run from {min(single):.1f} to {max(single):.0f}; nothing was trained.",
    )


def untrained_losses(sigma: Tensor, generator: torch.Generator) -> Tensor:
    """The losses of a denoiser that returns its input, compared with a velocity: the prior's at its start."""
    s = sigma[:, None]
    clean = torch.randn(len(sigma), PIXELS, generator=generator).clamp(-1, 1)
    noisy = clean + s * torch.randn(clean.shape, generator=generator)
    velocity = (clean - noisy / (s**2 + 1)) * (s**2 + 1).sqrt() / s
    return (noisy - velocity).square().mean(1)
