"""How a rise begins: creeping, or at once, and whether it lands on the level of the first steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from stethoscope.run import Series, Values

MEMORY = 16  # values before a leap that tell the level it leaves
LEAVES = 3.0  # times that level is out of it
HALF = 0.5  # of the way back to the start, too
STAYS = 8  # values of which a majority must stay out of it
ORDERS = 100.0  # a factor that no creeping rise reaches within two steps
AT_ONCE = 2  # steps; between values further apart a loss may have grown step by step
JUST_BEFORE = 5  # values whose median is the level that a leap comes from
AFTER = 3  # values whose median is the level after the leap
SAME = 0.25  # relative distance to the first level
STRETCH = 1 << 16  # values looked at together
LEARNED = 2.0  # times the level before must the first level be, to be told apart from it

Row = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Leap:
    """The first value out of the level, and what the next ones say.

    `one_step` says that the loss grew by orders of magnitude within one or two steps;
    `back_to_start` that it landed where the training had begun.
    """

    step: int
    before: float
    after: float
    one_step: bool
    back_to_start: bool


@np.errstate(over="ignore", invalid="ignore")  # a bar above the largest number is never passed
def leap(series: Series, since: int) -> Leap | None:
    """The first leap of a positive series of finite values at or after a step; None where it creeps."""
    values = series.values
    start = max(1, int(np.searchsorted(series.steps, since)))
    if len(values) < AFTER or float(values.min()) <= 0.0:
        return None
    initial = max(float(values[0]), float(np.median(values[:3])))
    for first in range(start, len(values), STRETCH):
        level = _levels(values, first, min(first + STRETCH, len(values)))
        left = np.flatnonzero(values[first : first + len(level)] > _bar(level, initial))
        stays = left[_stays(values, first + left, level[left])]
        if len(stays):
            at = int(stays[0])
            return _described(series, first + at, float(level[at]), initial)
    return None


def _levels(values: Values, first: int, last: int) -> Values:
    """For each index from first to before last, the highest of the values just before it."""
    padded = np.concatenate(
        [np.full(max(0, MEMORY - first), -np.inf), values[max(0, first - MEMORY) : last - 1]]
    )
    return np.asarray(sliding_window_view(padded, MEMORY).max(axis=1), dtype=np.float64)


def _stays(values: Values, at: Row, level: Values) -> npt.NDArray[np.bool_]:
    """For each index, whether a majority of the values from there on stays above its level."""
    following = at[:, np.newaxis] + np.arange(STAYS)
    there = following < len(values)
    above = there & (values[np.minimum(following, len(values) - 1)] > level[:, np.newaxis])
    return np.asarray(above.sum(axis=1) > HALF * there.sum(axis=1), dtype=np.bool_)


def _bar(level: Values, initial: float) -> Values:
    halfway = level + HALF * (initial - level)
    return np.where(initial > level, np.minimum(LEAVES * level, halfway), LEAVES * level)


def _described(series: Series, at: int, level: float, initial: float) -> Leap:
    values: Values = series.values
    after = float(np.median(values[at : at + AFTER]))
    steps = series.steps[max(0, at - 1) : at + 2]
    high = values[at : at + 2] >= ORDERS * level
    took = int(steps[1 + int(np.argmax(high))] - steps[0]) if high.any() else 0
    usual = float(np.median(values[max(0, at - JUST_BEFORE) : at]))
    return Leap(
        int(series.steps[at]),
        usual,
        after,
        series.axis == "step" and bool(high.any()) and took <= AT_ONCE,
        initial >= LEARNED * usual and abs(after - initial) <= SAME * initial,
    )
