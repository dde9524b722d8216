"""Did a loss leave its best level for good?

The curve is folded into block medians, so that spikes and noise do not count. A rise is judged against
three yardsticks at once: the noise between blocks, the best level, and how much had been gained before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.robust_stats import block_medians, largest_rise, noise_sd, smoothed, tame
from stethoscope.detectors.trend import trend
from stethoscope.run import Steps, Values

LEAST_POINTS = 16
MOST_BLOCKS = 128
NOISES = 6.0  # a rise of so many noise deviations is no accident
SURELY = 1e-3  # p-value of the upward trend since the best level
GROWN = 1.5  # a level so many times the best one
GAIN_LOST = 0.1  # or a share of all that had been learned
WORSE = 1.2  # beyond the first level, a smaller rise is already failure
LEARNED = 10.0  # noise deviations by which the loss must have fallen for its loss to be beyond doubt
VISIBLE = 0.05
KEPT = 0.5  # a rise of which more than half has been made good again is a scar, not a divergence
WINDOWS = (32, 64, 128, 256)  # points at the end searched for exponential growth
GROWTH_T = 4.0


@dataclass(frozen=True, slots=True)
class Rise:
    """A lasting rise: where it began, the levels, and how fast it went.

    `gain_lost` is the share of the earlier improvement that is gone (above 1: worse than at the start);
    `steps_to_rise` is the time from a tenth to nine tenths of it.
    """

    onset: int
    best_step: int
    initial: float
    best: float
    end: float
    noise: float
    gain_lost: float
    steps_to_rise: int
    exponential: bool

    @property
    def ratio(self) -> float:
        """The end level over the best one; infinity where the best level is not positive."""
        return self.end / self.best if self.best > 0.0 else math.inf

    @property
    def above_start(self) -> bool:
        """Whether the end is worse than the beginning."""
        return self.end > self.initial + 3.0 * self.noise

    @property
    def severe(self) -> bool:
        """Whether so much is lost that the run has failed."""
        if self.ratio >= GROWN and self.gain_lost >= GAIN_LOST:
            return True
        learned = self.initial - self.best > LEARNED * self.noise
        return self.above_start and (self.ratio >= WORSE or (learned and self.ratio >= 1.0 + VISIBLE))


def rise(steps: Steps, values: Values) -> Rise | None:
    """The lasting rise at the end of a series of finite values, if there is one."""
    if len(values) < LEAST_POINTS:
        return None
    x, y = block_medians(steps, tame(values), MOST_BLOCKS)
    level = smoothed(y, max(2, len(y) // 20))
    best_at = int(np.argmin(level))
    best = float(level[best_at])
    initial = max(float(y[0]), float(np.median(y[:3])))
    end = float(np.median(y[-max(3, len(y) // 10) :]))
    noise = noise_sd(y)
    exponential = _grows_exponentially(steps, values, best, initial)
    if exponential:
        end = max(end, float(np.median(y[-3:])))
    if end - best <= max(NOISES * noise, 1e-12 * abs(best)):
        return None
    highest = float(level[best_at:].max())
    if end - best < KEPT * (highest - best) or largest_rise(-level[best_at:]) > KEPT * (end - best):
        return None
    if not (exponential or _surely_rising(y[best_at:], end - best, noise)):
        return None
    # Where nothing had been learned, the whole curve must rise: a wandering level has a lowest point, too.
    if initial - best <= LEARNED * noise and not (exponential or _surely_rising(y, end - best, noise)):
        return None
    onset, took = _course(x, level, best_at, best, end)
    gain = initial - best
    lost = (end - best) / gain if gain > noise else math.inf
    return Rise(onset, int(x[best_at]), initial, best, end, noise, min(lost, 1e9), took, exponential)


def _surely_rising(y: Values, height: float, noise: float) -> bool:
    """An upward trend since the best level, or a jump far beyond the noise."""
    line = trend(np.arange(len(y)), y)
    if line is not None and line.p_rising < SURELY:
        return True
    late = y[-max(3, len(y) // 3) :]
    return len(y) >= 4 and height > 2.0 * NOISES * noise and float(late.min()) > float(y[0]) + 0.5 * height


def _course(x: Values, level: Values, best_at: int, best: float, end: float) -> tuple[int, int]:
    """The step at which the level last stood near its best, and the steps from 10 % to 90 % of the rise."""
    height = end - best
    low = np.flatnonzero(level[best_at:] <= best + 0.1 * height)
    onset = best_at + int(low[-1]) if len(low) else best_at
    high = np.flatnonzero(level[onset:] >= best + 0.9 * height)
    top = onset + int(high[0]) if len(high) else len(x) - 1
    return int(x[onset]), int(x[top] - x[onset])


def _grows_exponentially(steps: Steps, values: Values, best: float, initial: float) -> bool:
    """Whether the last points leave the floor at a rate that doubles them within half a window."""
    tamed = tame(values)
    floor = float(np.quantile(tamed, 0.05))
    for width in WINDOWS:
        if 2 * width > len(tamed):
            return False
        last = tamed[-width:]
        height = last - floor
        if np.count_nonzero(height > 0.0) < width:
            continue
        line = trend(np.arange(width), np.log(height))
        level = float(np.median(last[-width // 8 :]))
        grown = level > max(GROWN * best, best + GAIN_LOST * max(initial - best, 0.0)) or level > initial
        fast = line is not None and line.slope > math.log(2.0) / (width / 2.0)
        if line is not None and grown and fast and line.t > GROWTH_T:
            return True
    return False
