"""Did a loss leave its best level for good?

The curve is folded into block medians, so that spikes and noise do not count. A rise is judged against
three yardsticks at once: the noise between blocks, the best level, and how much had been gained before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stethoscope.detectors.robust_stats import (
    autocorrelation,
    block_medians,
    largest_rise,
    median_deviation,
    noise_sd,
    smoothed,
    tame,
    variance_inflation,
)
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
FAR = 8.0  # noise deviations of single points
LEAST_LAST = 5  # points in a row, up to the end
OUTGROWN = 3.0  # so few points must stand so many times above what came before
EARLY = 5  # values from which the start is read; an explosion may follow at once
LEAST_BEFORE = 8  # finite values before an explosion
EXPLODED = 10.0  # times the start is no longer a bump
LASTS = 3  # values in a row; a single one so high may be a rare batch
FAR_ABOVE = 2.0  # times the first level: worse than useless, whatever the curve does up there
PARTS = 8  # stretches after the best level, compared with each other
STILL_FALLS = 0.2  # p-value of a fall at the end that is not to be overlooked
AROUND = 8  # blocks on both sides of the best level, which say how noisy it was there
KEPT = 0.5  # a rise of which more than half has been made good again is a scar, not a divergence
WINDOWS = (32, 64, 128, 256)  # points at the end searched for exponential growth
GROWTH_T = 4.0


@dataclass(frozen=True, slots=True)
class Rise:
    """A lasting rise: where it began, the levels, and how fast it went.

    `gain_lost` is the share of the earlier improvement that is gone (above 1: worse than at the start);
    `steps_to_rise` is the time from a tenth to nine tenths of it; `exploded` says that on the way the loss
    stood many times above its start.
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
    exploded: bool = False

    @property
    def ratio(self) -> float:
        """The end level over the best one; infinity where the best level is not positive."""
        return self.end / self.best if self.best > 0.0 else math.inf

    @property
    def above_start(self) -> bool:
        """Whether the end is worse than the beginning."""
        return self.end > self.initial + 3.0 * self.noise or 0.0 < FAR_ABOVE * self.initial <= self.end

    @property
    def severe(self) -> bool:
        """Whether so much is lost that the run has failed."""
        if (self.exploded and self.above_start) or (self.ratio >= GROWN and self.gain_lost >= GAIN_LOST):
            return True
        learned = self.initial - self.best > LEARNED * self.noise
        return self.above_start and (self.ratio >= WORSE or (learned and self.ratio >= 1.0 + VISIBLE))


def rise(steps: Steps, values: Values) -> Rise | None:
    """The lasting rise at the end of a series of finite values, if there is one."""
    if len(values) < LEAST_POINTS:
        return None
    tamed = tame(values)
    return (
        _rise_of_level(steps, tamed)
        or _rise_of_last_points(steps, tamed)
        or _rise_far_above_the_start(steps, tamed)
        or _rise_through_an_explosion(steps, tamed)
    )


def blow_up(steps: Steps, values: Values) -> Rise | None:
    """A rise that ends in values which are not finite: the last finite ones stand far above all before them.

    So little is left of it that it shows in no level.
    """
    finite = np.isfinite(values)
    count = int(np.flatnonzero(finite)[-1]) + 1 if finite.any() else 0
    if len(values) - count < LASTS or not finite[:count].all():
        return None
    last = min(LASTS, count // 4)
    before, after = values[: count - last], values[count - last : count]
    if len(before) < LEAST_BEFORE:
        return None
    initial, level = float(np.median(before[:EARLY])), float(np.median(before))
    above = after > EXPLODED * max(initial, level, float(before.max()))
    if level <= 0.0 or not above.any():
        return None
    onset = count - last + int(np.flatnonzero(above)[0])
    best_at = int(np.argmin(before))
    best = float(before[best_at])
    end = float(after[above].max())
    noise = noise_sd(before)
    took = int(steps[count] - steps[onset])
    lost = _gain_lost(initial, best, end, noise)
    return Rise(int(steps[onset]), int(steps[best_at]), initial, best, end, noise, lost, took, False, True)


def _rise_of_level(steps: Steps, values: Values) -> Rise | None:
    """A rise that shows in the block medians."""
    x, y = block_medians(steps, values, MOST_BLOCKS)
    window = max(2, len(y) // 20)
    level = smoothed(y, window)
    best_at = int(np.argmin(level))
    best = float(level[best_at])
    initial = _initial_level(values, y)
    end = float(np.median(y[-max(3, len(y) // 10) :]))
    noise = noise_sd(y)
    exponential = _grows_exponentially(values, best, initial)
    if exponential:
        end = max(end, float(np.median(y[-3:])))
    after = y[best_at:]
    if end - best <= max(noise, 1e-12 * abs(best)):
        return None
    learned = initial - best > LEARNED * noise
    if _comes_back(after, end - best) and not (learned and _settles_above(y, initial)):
        return None
    near_best = noise_sd(y[max(0, best_at - AROUND) : best_at + AROUND])
    if not (exponential or _surely_rising(after, end - best, window, near_best)):
        return None
    # Where nothing had been learned, the whole curve must rise: a wandering level has a lowest point, too.
    if not learned and not (exponential or _surely_rising(y, end - best, window, near_best)):
        return None
    onset, took = _course(x, level, best_at, best, end)
    lost = _gain_lost(initial, best, end, noise)
    return Rise(onset, int(x[best_at]), initial, best, end, noise, lost, took, exponential)


def _comes_back(after: Values, height: float) -> bool:
    """Whether a good part of the rise has been made good again, spikes aside."""
    parts = np.array([np.median(part) for part in np.array_split(after, PARTS) if len(part)])
    return largest_rise(-parts) > KEPT * height


def _settles_above(y: Values, initial: float) -> bool:
    """Whether the last third stands clearly above the start and falls no more."""
    late = y[-max(LEAST_POINTS // 2, len(y) // 3) :]
    line = trend(np.arange(len(late)), late)
    falls = line is None or line.p_falling < STILL_FALLS
    return initial > 0.0 and not falls and float(np.quantile(late, 0.1)) > WORSE * initial


def _surely_rising(after: Values, height: float, window: int, near_best: float) -> bool:
    """An upward trend, or a step up that is large beside the noise of both levels."""
    line = trend(np.arange(len(after)), after)
    if line is not None and line.p_rising < SURELY:
        return True
    late = after[len(after) // 2 :]
    if len(late) < 4:
        return False
    rest = late - np.median(late)
    sd = max(median_deviation(late), noise_sd(late)) * math.sqrt(variance_inflation(autocorrelation(rest)))
    # Noise that fades with the learning rate leaves a low point behind that is noise itself.
    sd = max(sd, near_best)
    stays = float(np.quantile(late, 0.1)) > float(np.median(late)) - KEPT * height
    return stays and height > NOISES * sd * math.sqrt(2.0 / min(window, len(late)))


def _rise_far_above_the_start(steps: Steps, values: Values) -> Rise | None:
    """A loss that wanders, but far above where it began: noise and direction no longer matter."""
    initial = _initial(values)
    late = values[-max(LEAST_POINTS // 2, len(values) // 4) :]
    if initial <= 0.0 or float(np.quantile(late, 0.05)) < FAR_ABOVE * initial:
        return None
    below = np.flatnonzero(values < FAR_ABOVE * initial)
    at = int(below[-1]) if len(below) else 0
    best_at = int(np.argmin(values))
    best, end = float(values[best_at]), float(np.median(late))
    noise = median_deviation(late)
    lost = _gain_lost(initial, best, end, noise)
    took = int(steps[-1] - steps[at])
    return Rise(int(steps[at]), int(steps[best_at]), initial, best, end, noise, lost, took, False)


def _rise_of_last_points(steps: Steps, values: Values) -> Rise | None:
    """A rise too late for block medians: the last points, each far above what came before."""
    recent = max(8, len(values) // 5)
    history = values[-4 * recent : -recent]
    if len(history) < LEAST_POINTS // 2:
        return None
    before, noise = float(np.median(history)), median_deviation(history)
    initial = _initial(values)
    bar = before + max(FAR * noise, (GROWN - 1.0) * abs(before), GAIN_LOST * (initial - before))
    below = np.flatnonzero(values <= bar)
    start = int(below[-1]) + 1 if len(below) else len(values)
    last = values[start:]
    if len(last) < LEAST_LAST:
        return None
    end = float(np.median(last[-max(3, len(last) // 2) :]))
    grown = end > initial or (before > 0.0 and end > OUTGROWN * before)
    if not grown and len(last) < LEAST_POINTS:
        return None
    lost = _gain_lost(initial, before, end, noise)
    took = int(steps[-1] - steps[start])
    return Rise(int(steps[start]), int(steps[start - 1]), initial, before, end, noise, lost, took, grown)


def _rise_through_an_explosion(steps: Steps, values: Values) -> Rise | None:
    """A loss that stood many times above its start and came down again, but not as far as the start."""
    initial = _initial(values[:EARLY])
    if initial <= 0.0:
        return None
    late = values[-max(LEAST_POINTS // 2, len(values) // 4) :]
    factor = max(EXPLODED, _reach_of_noise(late))
    high = values > factor * initial
    if _longest(high) < LASTS and float(values.max()) < factor**3 * initial:
        return None
    at = int(np.argmax(high))
    end = float(np.median(late))
    noise = median_deviation(late) * math.sqrt(variance_inflation(autocorrelation(late)) / len(late))
    if at + len(late) >= len(values) or end - 3.0 * noise < (1.0 + VISIBLE) * initial:
        return None
    best_at = int(np.argmin(values[: at + 1]))
    best = float(values[best_at])
    onset = best_at + int(np.flatnonzero(values[best_at : at + 1] <= FAR_ABOVE * initial)[-1])
    lost = _gain_lost(initial, best, end, noise)
    took = int(steps[at] - steps[onset])
    return Rise(
        int(steps[onset]), int(steps[best_at]), initial, best, end, noise, lost, took, False, exploded=True
    )


def _reach_of_noise(late: Values) -> float:
    """The factor by which single values stray; enormous for the losses of diffusion."""
    positive = late[late > 0.0]
    return math.exp(min(NOISES * median_deviation(np.log(positive)), 100.0)) if len(positive) else math.inf


def _longest(high: npt.NDArray[np.bool_]) -> int:
    """The longest stretch of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], high.astype(np.int8), [0]))))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def _initial(values: Values) -> float:
    return max(float(values[0]), float(np.median(values[:3])))


def _initial_level(values: Values, folded: Values) -> float:
    """The first level of the folded curve; the first values where an explosion fills the first blocks."""
    first, level = _initial(values), _initial(folded)
    return first if 0.0 < FAR_ABOVE * first < level else level


def _gain_lost(initial: float, best: float, end: float, noise: float) -> float:
    gain = initial - best
    return min((end - best) / gain, 1e9) if gain > noise else 1e9


def _course(x: Values, level: Values, best_at: int, best: float, end: float) -> tuple[int, int]:
    """The step at which the level last stood near its best, and the steps from 10 % to 90 % of the rise."""
    height = end - best
    low = np.flatnonzero(level[best_at:] <= best + 0.1 * height)
    onset = best_at + int(low[-1]) if len(low) else best_at
    high = np.flatnonzero(level[onset:] >= best + 0.9 * height)
    top = onset + int(high[0]) if len(high) else len(x) - 1
    return int(x[onset]), int(x[top] - x[onset])


def _grows_exponentially(tamed: Values, best: float, initial: float) -> bool:
    """Whether the last points leave the floor at a rate that doubles them within half a window."""
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
