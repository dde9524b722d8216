"""Shares of correct answers: how many samples stand behind them, and what that number can tell.

An accuracy on n samples moves in steps of 1/n. Where the steps show, n is known, and so is how far the
accuracy strays by the choice of the samples alone.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stethoscope.run import Values

MOST_SAMPLES = 2048  # a larger set does not wander enough to matter
LEAST_DISTINCT = 3  # two values fit too many grids
COARSER = 4  # times the last printed digit a step must be, or rounding alone makes the grid
MOST_DIGITS = 9
FIRST_LOOK = 64  # shares


def samples(shares: Values) -> int | None:
    """The number of samples behind some shares between 0 and 1; None where they move in no steps."""
    distinct = np.unique(shares)
    if len(distinct) < LEAST_DISTINCT or distinct[0] < 0.0 or distinct[-1] > 1.0:
        return None
    unit = 10.0 ** -_digits(distinct)
    sizes = np.arange(2, min(MOST_SAMPLES, int(1.0 / (COARSER * unit))) + 1)
    if len(sizes) == 0:
        return None
    # A few shares rule out nearly every size; only what they leave is held against all of them.
    few = distinct[:: -(-len(distinct) // FIRST_LOOK)]
    left = sizes[_fit(sizes, few, unit)]
    return next((size for size in left.tolist() if _fit(np.array([size]), distinct, unit).all()), None)


def _fit(sizes: npt.NDArray[np.int64], shares: Values, unit: float) -> npt.NDArray[np.bool_]:
    """For each number of samples, whether all shares are whole numbers of them."""
    counts = np.outer(sizes, shares)
    # A share printed to a digit is off by half a unit of it at most; its count by so many times more.
    off = np.abs(counts - np.rint(counts)) <= 0.6 * unit * sizes[:, np.newaxis]
    return np.asarray(off.all(axis=1), dtype=np.bool_)


def error_of_difference(share: float, count: int) -> float:
    """The standard deviation of the difference of two shares around `share`, each of `count` samples."""
    inside = min(max(share, 1.0 / count), 1.0 - 1.0 / count)
    return math.sqrt(2.0 * inside * (1.0 - inside) / count)


def _digits(values: Values) -> int:
    """The decimals to which the values were printed."""
    for digits in range(1, MOST_DIGITS):
        if np.allclose(values, np.round(values, digits), rtol=0.0, atol=1e-12):
            return digits
    return MOST_DIGITS
