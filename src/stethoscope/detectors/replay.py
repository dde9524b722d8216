"""What a restart does with the steps it trains again: the same, the same data in the same order, or neither.

The steps that both branches have are a free comparison. Where nothing was lost their losses are equal; where
the order of the data was kept and the arithmetic was not, the noise of single batches is shared; where the
order was lost, only the level is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.distributions import normal_tail
from stethoscope.run import Steps, Values

LEAST_POINTS = 12
EXACT = 1e-6  # relative difference of two losses that are the same number
MOSTLY = 0.9  # of the steps
SURELY = 1e-3  # p-value of the shared noise
AROUND = 5  # values whose median is the level that noise stands on
BEFORE = 0.1  # relative difference from the first value that a quantity must have had before it returns to it
BACK = 0.01  # relative difference at which it has returned


@dataclass(frozen=True, slots=True)
class Replay:
    """The steps trained twice: how many, the share of equal losses, and the correlation of their noise.

    `shift` is the median of the logarithm of the second loss over the first; `p` is the chance of so much
    correlation between two orders of the data.
    """

    points: int
    equal: float
    correlation: float
    p: float
    shift: float

    @property
    def is_exact(self) -> bool:
        """Whether the same numbers came out again."""
        return self.equal >= MOSTLY

    @property
    def keeps_the_order(self) -> bool:
        """Whether the same batches came in the same order."""
        return self.is_exact or (self.p < SURELY and self.correlation > 0.0)


def replay(first: tuple[Steps, Values], second: tuple[Steps, Values]) -> Replay | None:
    """Compare two branches, steps and finite positive losses of each; None for too few steps in common."""
    steps, at_first, at_second = np.intersect1d(first[0], second[0], return_indices=True)
    if len(steps) < LEAST_POINTS:
        return None
    a, b = first[1][at_first], second[1][at_second]
    if float(min(a.min(), b.min())) <= 0.0:
        return None
    equal = float(np.mean(np.abs(a - b) <= EXACT * np.abs(a)))
    a, b = np.log(a), np.log(b)
    correlation = _correlation(_noise(a), _noise(b))
    # Fisher's transformation; taking the level away costs every other point, to be on the safe side.
    z = math.atanh(min(max(correlation, -0.999999), 0.999999)) * math.sqrt(max(1.0, len(steps) / 2.0 - 3.0))
    return Replay(len(steps), equal, correlation, normal_tail(z), float(np.median(b - a)))


def returns_to_start(values: Values, at: int) -> bool:
    """Whether a rate or a scale that had left its first value has it again from an index on."""
    if not 0 < at < len(values):
        return False
    start, before, after = (float(values[i]) for i in (0, at - 1, at))
    left = abs(before - start) > BEFORE * abs(start)
    return left and abs(after - start) <= BACK * abs(start)


def _noise(values: Values) -> Values:
    """What single values have beside the median of their neighbours."""
    half = AROUND // 2
    padded = np.pad(values, half, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, AROUND)
    return np.asarray(values - np.median(windows, axis=1), dtype=np.float64)


def _correlation(a: Values, b: Values) -> float:
    """Of ranks, so that one rare batch does not decide."""
    a, b = _ranks(a), _ranks(b)
    power = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / power if power > 0.0 else 0.0


def _ranks(values: Values) -> Values:
    """Centred ranks; equal values share theirs."""
    levels, at = np.unique(values, return_inverse=True)
    counts = np.bincount(at, minlength=len(levels))
    ranks = (np.cumsum(counts) - 0.5 * (counts - 1))[at]
    return np.asarray(ranks - ranks.mean(), dtype=np.float64)
