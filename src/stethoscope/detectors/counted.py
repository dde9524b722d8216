"""Shares of correct answers: how many samples stand behind them, and what that number can tell.

An accuracy on n samples moves in steps of 1/n. Where the steps show, n is known, and so is how far the
accuracy strays by the choice of the samples alone.
"""

from __future__ import annotations

import math

import numpy as np

from stethoscope.run import Values

MOST_SAMPLES = 2048  # a larger set does not wander enough to matter
LEAST_DISTINCT = 3  # two values fit too many grids
COARSER = 4  # times the last printed digit a step must be, or rounding alone makes the grid
MOST_DIGITS = 9


def samples(shares: Values) -> int | None:
    """The number of samples behind some shares between 0 and 1; None where they move in no steps."""
    distinct = np.unique(shares)
    if len(distinct) < LEAST_DISTINCT or distinct[0] < 0.0 or distinct[-1] > 1.0:
        return None
    unit = 10.0 ** -_digits(distinct)
    sizes = np.arange(2, min(MOST_SAMPLES, int(1.0 / (COARSER * unit))) + 1)
    if len(sizes) == 0:
        return None
    counts = np.outer(sizes, distinct)
    # A share printed to a digit is off by half a unit of it at most; its count by so many times more.
    fits = np.all(np.abs(counts - np.rint(counts)) <= 0.6 * unit * sizes[:, np.newaxis], axis=1)
    return int(sizes[np.argmax(fits)]) if fits.any() else None


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
