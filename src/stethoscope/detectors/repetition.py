"""Do single values come again after a fixed number of them, as batches do that come in the same order?

Nothing needs to be known about the length of an epoch. Batches that are drawn anew are as unlike one epoch
later as they are one batch later; batches in a fixed order are like themselves at that distance, and at twice
that, and less like what lies half-way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.robust_stats import tame
from stethoscope.run import Values

SHORTEST = 6  # values in a period
LEAST_PERIODS = 3.5
ALIKE = 0.75  # the correlation of values that are one period apart
STILL_ALIKE = 0.65  # and of those that are two apart
LESS_ALIKE = 0.4  # what lies between must be this much less alike
STAIRCASE = 2.0  # times what the level moves within a period; the step of a staircase is half of that high
MOST_VALUES = 20_000  # the last of them


@dataclass(frozen=True, slots=True)
class Repetition:
    """The period in values, how alike values are that are so far apart, and how alike neighbours are."""

    period: int
    alike: float
    neighbours: float


def repetition(values: Values) -> Repetition | None:
    """The shortest period after which finite values come again; None where there is none."""
    values = tame(values[-MOST_VALUES:])
    longest = int(len(values) / LEAST_PERIODS)
    if longest < SHORTEST:
        return None
    correlations = _correlations(values - _level(values))
    for period in range(SHORTEST, longest + 1):
        if correlations[period] >= ALIKE and _is_peak(correlations, period):
            alike, neighbours = float(correlations[period]), float(correlations[1])
            return None if _is_staircase(values, period) else Repetition(period, alike, neighbours)
    return None


def _is_staircase(values: Values, period: int) -> bool:
    """Whether the shape of a period is no higher than the step to the next one."""
    rows = values[-(len(values) // period) * period :].reshape(-1, period)
    moved = float(np.median(np.abs(np.diff(rows.mean(axis=1)))))
    shape = (rows - rows.mean(axis=1, keepdims=True)).mean(axis=0)
    return float(np.ptp(shape)) / 2.0 < STAIRCASE * moved


def _is_peak(correlations: Values, period: int) -> bool:
    """Whether values are alike at this distance and its double, and less so between and around."""
    between = correlations[period // 3 : period - period // 3 + 1]
    around = correlations[period - 1 : period + 2]
    return bool(
        correlations[period] == around.max()
        and correlations[2 * period] >= STILL_ALIKE
        and between.min() <= correlations[period] - LESS_ALIKE
    )


def _level(values: Values) -> Values:
    """The slow part: what a line and a logarithm make of it."""
    at = np.arange(len(values), dtype=np.float64)
    shapes = np.stack([np.ones_like(at), at, np.log1p(at)], axis=1)
    weights, *_ = np.linalg.lstsq(shapes, values, rcond=None)
    return np.asarray(shapes @ weights)


def _correlations(rest: Values) -> Values:
    """The correlation of the values with themselves at every distance, each over the pairs that exist."""
    rest = rest - rest.mean()
    size = len(rest)
    spectrum = np.fft.rfft(rest, 2 * size)
    products = np.fft.irfft(spectrum * np.conj(spectrum), 2 * size)[:size]
    squares = np.concatenate(([0.0], np.cumsum(rest * rest)))
    distances = np.arange(size)
    scale = np.sqrt(squares[size - distances] * (squares[size] - squares[distances]))
    return np.asarray(np.divide(products, scale, out=np.zeros(size), where=scale > 0.0))
