"""Did a metric peak and then decline, or does it only look so?

The best of many noisy values is always better than the last. The null hypothesis is a metric whose
expectation never gets worse: an isotonic fit with AR(1) noise, from which the drop of the smoothed curve
is resampled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from stethoscope.detectors.robust_stats import (
    autocorrelation,
    block_means,
    isotonic,
    isotonic_errors,
    largest_rise,
    noise_sd,
    smoothed,
    tame,
)
from stethoscope.detectors.trend import trend
from stethoscope.run import Steps, Values

LEAST_POINTS = 12
MOST_POINTS = 100
RESAMPLES = 400
PEAKS_TRIED = 25  # places for the top of a curve with one peak
LEVEL = 0.005  # flat curves with remembering noise reject more often than the nominal level
SLOPE_LEVEL = 0.05
CLEAR = 10.0  # a drop of so many standard errors needs no slope to confirm it
WANDERS = 3.0  # times its largest movement the other way, a decline must be
LEAST_GOOD = 2  # values before a collapse
SHORT_LEVEL = 0.07  # chance of the order alone; the size of the drop says the rest
SHORT_WANDERS = 3.0
THIRD = 1.0 / 3.0
SEED = 20240229  # the same curve gets the same verdict every time


@dataclass(frozen=True, slots=True)
class Peak:
    """A peak and the decline after it, in the units of the series with higher better.

    `best` and `end` are means over `window` evaluations; `best_step` is the last step of the best window.
    A drop that is no larger than what the curve wanders is not tested: its `p` is 1.
    """

    best_step: int
    best: float
    end: float
    window: int
    p: float
    standard_errors: float
    declines: bool

    @property
    def drop(self) -> float:
        """How far the end lies below the best."""
        return self.best - self.end


def peak(steps: Steps, values: Values) -> Peak | None:
    """Test finite values, higher being better; None for too few of them."""
    if len(values) < LEAST_POINTS:
        return None
    x, y = block_means(steps, tame(values), MOST_POINTS)
    window = max(2, len(y) // 10)
    means = _window_means(y, window)
    at = int(np.argmax(means))
    drop = float(means[at] - means[-1])
    p, errors, declines = 1.0, 0.0, False
    # A curve that wanders has fallen and climbed as far before; one that peaked has not.
    wandered = max(largest_rise(-means[: at + 1]), largest_rise(means[at:]))
    if drop > max(WANDERS * wandered, 0.0):
        sd, rho = _noise(y)
        p = _chance(y, drop, window, sd, rho)
        errors = drop / (sd * math.sqrt(2.0 / window)) if sd > 0.0 else math.inf
        declines = p < LEVEL and (errors > CLEAR or _falls_after(y, at + window - 1))
    return Peak(int(x[at + window // 2]), float(means[at]), float(means[-1]), window, p, errors, declines)


def collapse(steps: Steps, values: Values) -> Peak | None:
    """A collapse among fewer values than `peak` can judge, higher being better; None where there is none.

    The last values, all far below all of those before them: so many in random order fall so once in as many
    times as there are choices of the last ones.
    """
    y = tame(values)
    found = [one for cut in range(LEAST_GOOD, len(y) - 1) if (one := _collapse_at(steps, y, cut)) is not None]
    return max(found, key=lambda one: one.drop, default=None) if len(y) < LEAST_POINTS else None


def _collapse_at(steps: Steps, y: Values, cut: int) -> Peak | None:
    after = y[cut:]
    low = np.flatnonzero(y[:cut] <= after.max())
    good = y[int(low[-1]) + 1 if len(low) else 0 : cut]
    if len(good) < LEAST_GOOD:
        return None
    p = 1.0 / math.comb(len(good) + len(after), len(after))
    best, end = float(np.median(good)), float(np.median(after))
    drop = best - end
    wandered = max(largest_rise(-good), largest_rise(after))
    # A loss has no lower bound on how much worse it can get: it must double, a score lose a third.
    far = drop > (abs(best) if best < 0.0 else THIRD * best)
    at = cut - len(good) + int(np.argmax(good))
    if not far or p > SHORT_LEVEL or drop <= SHORT_WANDERS * wandered:
        return None
    errors = drop / max(float(np.std(good)), float(np.std(after)), 1e-300)
    return Peak(int(steps[at]), best, end, len(after), p, min(errors, 1e9), True)


def _window_means(y: Values, window: int) -> Values:
    return smoothed(y, window)[window - 1 :]


def _noise(y: Values) -> tuple[float, float]:
    """The standard deviation and autocorrelation of the noise around the curve.

    Around the best curve with one peak, not around the null's: a real decline must not pass for noise.
    Such a fit swallows part of the noise, more of it the more steps it has, which is given back here.
    """
    fitted = _one_peak(y)
    rest = y - fitted
    levels = 1 + int(np.count_nonzero(np.diff(fitted)))
    left = max(1.0, len(y) - levels)
    swallowed = levels / len(y)
    rho = autocorrelation(rest)
    sd = max(float(np.sqrt(rest @ rest / left)), noise_sd(y))
    return sd, min(0.95, rho + swallowed * (1.0 - rho))


def _one_peak(y: Values) -> Values:
    """The closest curve that rises to one point and falls after it."""
    tried = np.arange(0, len(y), max(1, len(y) // PEAKS_TRIED))
    # The fall after the peak is a rise for who reads from the end.
    error = isotonic_errors(y)[tried] + isotonic_errors(y[::-1])[len(y) - tried]
    at = int(tried[np.argmin(error)])
    return np.concatenate([isotonic(y[:at]), -isotonic(-y[at:])])


def _chance(y: Values, drop: float, window: int, sd: float, rho: float) -> float:
    """How often a never-worsening curve with this noise shows so large a drop."""
    if drop <= 0.0:
        return 1.0
    if sd <= 0.0:
        return 0.0
    normal, first = _draws(len(y))
    shocks = normal * sd * math.sqrt(1.0 - rho * rho)
    noise = np.empty_like(shocks)
    noise[0] = first * sd
    for t in range(1, len(y)):
        noise[t] = rho * noise[t - 1] + shocks[t]
    total = np.zeros((len(y) + 1, RESAMPLES))
    np.cumsum(isotonic(y)[:, np.newaxis] + noise, axis=0, out=total[1:])
    means = (total[window:] - total[:-window]) / window
    drops = means.max(axis=0) - means[-1]
    return float((1 + np.count_nonzero(drops >= drop)) / (1 + RESAMPLES))


@lru_cache(maxsize=8)
def _draws(length: int) -> tuple[Values, Values]:
    """The same normal numbers every time: a column of so many for each resample, and one for its start."""
    rng = np.random.default_rng(SEED)
    columns = np.ascontiguousarray(rng.standard_normal((RESAMPLES, length)).T)
    return columns, rng.standard_normal(RESAMPLES)


def _falls_after(y: Values, at: int) -> bool:
    """Whether the metric has a falling trend from the peak on."""
    line = trend(np.arange(len(y) - at), y[at:])
    return line is not None and line.p_falling < SLOPE_LEVEL
