"""Does a loss rise because its task gets harder, or beyond that?

Where difficulty and time rise together they cannot be told apart, and the closest function that never falls
says how much the difficulty may explain. Where the difficulty has stopped and the loss has not, it is time:
the model gets worse at equal difficulty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.robust_stats import isotonic, tame
from stethoscope.detectors.trend import LEAST_POINTS, trend
from stethoscope.run import Steps, Values

SAME = 0.01  # of the range of the difficulty: points so near to each other are equally difficult
EXPLAINED = 0.1  # partial R squared of time given the difficulty, below which time adds nothing
SURELY = 1e-3  # p-value of the rise at equal difficulty


@dataclass(frozen=True, slots=True)
class Confounding:
    """`explained` is the share of the variance that the difficulty can explain.

    `partial` is the share of what is left at the last difficulty that a line in time explains, `p_rising` the
    chance of its rise without one, `equal` the number of points there.
    """

    explained: float
    partial: float
    p_rising: float
    equal: int

    @property
    def rises_beyond(self) -> bool:
        """Whether the loss surely rises with time at equal difficulty."""
        return self.partial >= EXPLAINED and self.p_rising < SURELY


def given_difficulty(steps: Steps, values: Values, difficulty: Values) -> Confounding | None:
    """Hold finite losses against the difficulty at their steps; None for too few points or no difference."""
    span = float(np.ptp(difficulty)) if len(difficulty) else 0.0
    if len(values) < LEAST_POINTS or span <= 0.0:
        return None
    y = np.log(tame(values)) if float(values.min()) > 0.0 else tame(values)
    spread = float(((y - y.mean()) ** 2).sum())
    if spread <= 0.0:
        return None
    rest = y - _by_difficulty(y, difficulty)
    explained = 1.0 - float(rest @ rest) / spread
    apart = np.flatnonzero(np.abs(difficulty - difficulty[-1]) > SAME * span)
    late = slice(int(apart[-1]) + 1 if len(apart) else 0, None)
    line = trend(steps[late], y[late])
    if line is None:
        return Confounding(explained, 0.0, 1.0, len(y[late]))
    return Confounding(explained, _share_of_line(steps[late], y[late]), line.p_rising, len(y[late]))


def _share_of_line(steps: Steps, y: Values) -> float:
    """R squared of a line in time."""
    time = steps.astype(np.float64) - float(steps.mean())
    rest = y - y.mean()
    both = float(time @ time) * float(rest @ rest)
    return float(time @ rest) ** 2 / both if both > 0.0 else 0.0


def _by_difficulty(y: Values, difficulty: Values) -> Values:
    """The closest values that never fall with the difficulty; one value for all points of one difficulty."""
    levels, at = np.unique(difficulty, return_inverse=True)
    counts = np.bincount(at, minlength=len(levels))
    means = np.bincount(at, weights=y, minlength=len(levels)) / counts
    # Each level weighs as much as the points it has.
    fitted = isotonic(np.repeat(means, counts))
    return np.asarray(fitted[np.cumsum(counts) - 1][at], dtype=np.float64)
