"""Did a level go up at once and stay there?

Takes medians of neighbouring blocks. A step is told from noise by the blocks before it, from a ramp by their
flatness, and from a spike by the blocks after it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.robust_stats import median_deviation, noise_sd, tame
from stethoscope.run import Values

AFTER = 3  # blocks that must stand above
BEFORE = 12  # blocks that must stand below, and say how noisy medians are
LEAST_RISE = 0.2  # of the level before
NOISES = 8.0  # deviations between blocks
RAMP = 0.1  # of the step, and more than three deviations: a level that had climbed so far was on its way up
CLEAR = 3.0
SPREAD = 0.5  # of the step: blocks after it that differ by more have not settled


@dataclass(frozen=True, slots=True)
class StepUp:
    """A step between two levels, and the noise between blocks."""

    before: float
    after: float
    noise: float


def step_up(medians: Values) -> StepUp | None:
    """The step that ends with the last `AFTER` of some finite block medians; None where there is none."""
    if len(medians) < AFTER + BEFORE:
        return None
    tamed = tame(medians)
    before, after = tamed[-AFTER - BEFORE : -AFTER], tamed[-AFTER:]
    low, high = float(np.median(before)), float(np.median(after))
    step = high - low
    noise = max(noise_sd(before), median_deviation(before))
    if step <= max(LEAST_RISE * abs(low), NOISES * noise) or float(after.min()) <= float(before.max()):
        return None
    # The last block before may hold a part of the step itself.
    climbed = float(np.median(before[-AFTER - 1 : -1])) - low, float(before[-2]) - low
    if max(climbed) > max(RAMP * step, CLEAR * noise) or float(np.ptp(after)) > SPREAD * step:
        return None
    return StepUp(low, high, noise)
