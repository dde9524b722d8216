"""Does one value leave all at once what the series has been doing lately?

The running level of `spike` remembers a hundred points, so in a young run, while the loss still falls fast,
it stands above the last values and takes the fall for noise. Here level and noise are read from the last
values alone, with their trend taken out: the slope from pairs of points half a window apart, the noise from
what is left beside it. Whatever wanders is kept silent by the highest of the very last values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from stethoscope.detectors import spike
from stethoscope.detectors.robust_stats import MAD_TO_SD
from stethoscope.detectors.spike import LEAST_RISE, MEAN_TO_SD, SpikeState

WINDOW = 64  # points; as many as `spike` takes to warm up
LAST = 16  # points at the end of the window
AT_ONCE = 0.5  # of a value's height above the level is above the highest of the last points as well
LOG_RISE = math.log1p(LEAST_RISE)
SECOND_DIFFERENCE = math.sqrt(6.0)  # the variance of a - 2b + c is six times that of one point


def left(values: Sequence[float], value: float, logarithmic: bool) -> SpikeState | None:
    """The level and the noise that a value leaves; None where it does not, or too few values are known.

    All are finite. The level is given as what `spike.update` judges by.
    """
    if len(values) < WINDOW or value <= max(values[-LAST:]):
        return None
    points = _coordinates(values[-WINDOW:], logarithmic)
    level, noise = _level(points), _noise(points)
    state = SpikeState(logarithmic, WINDOW, WINDOW, level, noise / MEAN_TO_SD)
    (y,) = _coordinates((value,), logarithmic)
    at_once = y - max(points[-LAST:]) >= AT_ONCE * (y - level)
    return state if at_once and spike.update(state, value)[1] else None


def may_rise(state: SpikeState, value: float) -> bool:
    """A cheap look first: whether a value stands visibly above the running level."""
    if state.seen < state.warm_up:
        return False
    if state.logarithmic:
        return value > 0.0 and math.log(value) - state.level > LOG_RISE
    return value - state.level > LEAST_RISE * abs(state.level)


def _coordinates(values: Sequence[float], logarithmic: bool) -> list[float]:
    return [math.log(max(abs(one), 1e-300)) for one in values] if logarithmic else list(values)


def _level(points: Sequence[float]) -> float:
    """The level at the end of the line, but not below the last points, whatever the slope."""
    slope, rests = _taken_apart(points)
    return max(median(rests) + slope * (len(points) - 1), median(points[-LAST:]))


def _noise(points: Sequence[float]) -> float:
    """The noise of single points: beside the line, and from second differences, for which no bend counts."""
    _, rests = _taken_apart(points)
    middle = median(rests)
    beside = median(abs(rest - middle) for rest in rests)
    second = [abs(c - 2.0 * b + a) for a, b, c in zip(points, points[1:], points[2:], strict=False)]
    return MAD_TO_SD * max(beside, median(second) / SECOND_DIFFERENCE)


def _taken_apart(points: Sequence[float]) -> tuple[float, list[float]]:
    """The slope, and what is left of the points without it."""
    half = len(points) // 2
    slope = median(after - before for before, after in zip(points, points[half:], strict=False)) / half
    return slope, [point - slope * at for at, point in enumerate(points)]
