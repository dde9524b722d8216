"""Is a curve flat? Shown by an interval that is narrow, not by a test that failed to find a slope."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.robust_stats import block_medians, noise_sd, tame
from stethoscope.detectors.trend import trend
from stethoscope.run import Steps, Values

LEAST_POINTS = 40
MOST_BLOCKS = 64


@dataclass(frozen=True, slots=True)
class Flatness:
    """How a curve went: its first level, its best, its last, and how much the slope may still hide.

    `drift` is the largest change over the whole curve that the 95 % interval of the slope allows, in
    units of the series; `noise` is that of one block median.
    """

    initial: float
    best: float
    end: float
    drift: float
    noise: float

    @property
    def improvement(self) -> float:
        """How far the best level stands below the first, relative to the first."""
        return (self.initial - self.best) / max(abs(self.initial), 1e-300)

    def within(self, share: float) -> bool:
        """Whether the whole curve surely stays within this share of its first level."""
        return self.drift <= share * abs(self.initial) and abs(self.improvement) <= share


def flatness(steps: Steps, values: Values) -> Flatness | None:
    """How flat a series of finite values is; None where there are too few."""
    if len(values) < LEAST_POINTS:
        return None
    x, y = block_medians(steps, tame(values), MOST_BLOCKS)
    line = trend(x.astype(np.int64), y)
    if line is None:
        return None
    low, high = line.interval()
    span = float(x[-1] - x[0])
    smooth = np.convolve(y, np.full(3, 1.0 / 3.0), mode="valid")
    return Flatness(
        float(np.median(y[: max(1, len(y) // 16)])),
        float(smooth.min()),
        float(np.median(y[-max(1, len(y) // 4) :])),
        max(abs(low), abs(high)) * span,
        noise_sd(y),
    )


def longest_constant(values: Values) -> tuple[int, int]:
    """The longest stretch of one repeated value: its first index and its length."""
    if len(values) == 0:
        return 0, 0
    edges = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1], [True])))
    lengths = np.diff(edges)
    longest = int(np.argmax(lengths))
    return int(edges[longest]), int(lengths[longest])
