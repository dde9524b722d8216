"""The weight of a loss term that lags behind, by this block and by two rules that failed."""

from __future__ import annotations

import math

import torch

from stethoscope.blocks.loss_balancing import LossBalancer
from stethoscope.figures.chart import Chart, Level, Line

STEPS, EVERY = 6000, 20
RATE, MOMENTUM, THRESHOLD = 0.005, 0.95, 0.05  # those of the super-resolution system
FASTEST = 1 - math.exp(-1 / 10)  # how fast its scheduler follows a loss
BOUND = 100.0


def picture() -> Chart:
    """Let one term fall to an eighth and another hardly, and follow the weight of the second."""
    generator = torch.Generator().manual_seed(0)
    noise = (0.2 * torch.randn(STEPS, 2, generator=generator)).exp().tolist()
    balancer = LossBalancer(
        {"l1": 1.0, "ssim": 0.05}, adaptation_rate=RATE, threshold=THRESHOLD, min_weight=0.1, max_weight=10.0
    )
    memoryless = _Memoryless()
    runaway = 0.0
    rows: list[tuple[float, float, float]] = []
    for step in range(STEPS):
        progress = min(1.0, step / (STEPS / 2))
        l1 = 0.08 * 0.125**progress * noise[step][0]
        ssim = 0.3 * 0.7**progress * noise[step][1]
        balancer({"l1": torch.tensor(l1), "ssim": torch.tensor(ssim)})
        factor = memoryless.factor(ssim)
        levels = balancer.report()
        drift = math.log(levels["ssim"]["level"] / levels["ssim"]["baseline"])
        drift -= math.log(levels["l1"]["level"] / levels["l1"]["baseline"])
        runaway = min(math.log(BOUND), runaway + RATE * drift / 2)
        if step % EVERY == 0:
            rows.append((balancer.weights()["ssim"], factor, math.exp(runaway)))
    steps = range(0, STEPS, EVERY)
    ours, never, always = zip(*rows, strict=True)
    return Chart(
        title="One term falls to 1/8, the other to 0.7: the weight of the other",
        x_label="optimizer step",
        y_label="weight",
        lines=[
            Line("this block", steps, ours, tone="good"),
            Line("adds up the drift", steps, always, "dashed", "bad"),
            Line("begins at 1 every step", steps, never, "dotted", "muted"),
        ],
        levels=[Level(BOUND, "bound of 100")],
        log_y=True,
        note=f"Begun at 1 every step it stays within {min(never):.4f} and {max(never):.4f}.",
    )


class _Memoryless:
    """The rule of the super-resolution system, which computes its factor from 1 at every step."""

    def __init__(self) -> None:
        self.smoothed: float | None = None
        self.velocity = 0.0

    def factor(self, loss: float) -> float:
        if self.smoothed is None:
            self.smoothed = loss
        before = self.smoothed
        self.smoothed += FASTEST * (loss - before)
        self.velocity = MOMENTUM * self.velocity + (1 - MOMENTUM) * (self.smoothed - before)
        relative = (loss - self.smoothed) / self.smoothed
        if abs(self.velocity) > THRESHOLD:
            size = RATE * min(2.0, abs(relative))
            return 1 - size if self.velocity > 0 else 1 + size
        return 1 - RATE * relative if abs(relative) > THRESHOLD else 1.0
