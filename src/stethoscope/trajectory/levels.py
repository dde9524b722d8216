"""The level of a series between named steps, with the error that its own noise gives it.

A single value of a training loss says little. Between two named steps the distances of all values from what
is expected are gathered into one level, or two where there are many, and the noise around it, with its
memory, says how well that level is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from stethoscope.detectors.robust_stats import (
    MAD_TO_SD,
    memory_around_a_line,
    noise_sd,
    tame,
    variance_inflation,
)
from stethoscope.run import Series, Steps, Values
from stethoscope.trajectory.trajectory import Held

MANY = 16  # values between two named steps, which are worth two levels
ENOUGH = 6  # values that tell their own noise
MEDIAN_ERROR = 1.2533  # the standard error of a median is this many times that of a mean


@dataclass(frozen=True, slots=True)
class Level:
    """A stretch of steps: its values' median, how far that lies from a line, and how well it is known.

    `finite` is the share of values that are numbers; `complete` says that the stretch was reached to its end.
    """

    first: int
    last: int
    points: int
    value: float
    distance: float
    error: float
    finite: float
    complete: bool


def levels(series: Series, held: Held, line: Values) -> tuple[Level, ...]:
    """The levels of a series along the named steps; `line` is what distances are measured from, scaled."""
    distances = tame(held.scaled(series.values)) - line
    noise = _noise(distances)
    last = int(series.steps[-1]) if len(series) else -1
    found = []
    for begin, end, until in _stretches(series.steps, held):
        steps, near = series.steps[begin:end], distances[begin:end]
        found.append(_level(steps, series.values[begin:end], near, noise, last >= until))
    return tuple(found)


def _stretches(steps: Steps, held: Held) -> Iterator[tuple[int, int, int]]:
    """The positions from and to which a level runs, and the step at which it is complete."""
    named = [row.step for row in held.rows]
    edges = [named[0] - 1, *named]
    for before, until in pairwise(edges):
        begin, end = (int(np.searchsorted(steps, at, side="right")) for at in (before, until))
        if end - begin >= MANY:
            middle = (begin + end) // 2
            yield begin, middle, int(steps[middle - 1])
            yield middle, end, until
        elif end > begin:
            yield begin, end, until


def _level(steps: Steps, values: Values, distances: Values, noise: float, complete: bool) -> Level:
    kept = np.isfinite(values) & np.isfinite(distances)
    near = distances[kept]
    level = float(np.median(near)) if len(near) else math.nan
    return Level(
        int(steps[0]),
        int(steps[-1]),
        len(values),
        float(np.median(values[kept] / 2.0) * 2.0) if len(near) else math.nan,
        level,
        _error(near, noise),
        float(kept.mean()) if len(kept) else 0.0,
        complete,
    )


def _error(distances: Values, noise: float) -> float:
    """The standard error of the median of distances whose noise remembers itself."""
    n = len(distances)
    if n == 0:
        return 0.0
    if n < ENOUGH:
        return noise * (MEDIAN_ERROR if n > 2 else 1.0) / math.sqrt(n)
    place = np.arange(n) - (n - 1) / 2.0
    slope = float(place @ distances) / float(place @ place)
    left = distances - distances.mean() - slope * place
    inflation = min(variance_inflation(memory_around_a_line(left)), float(n))
    return MEDIAN_ERROR * max(float(left.std(ddof=2)), 0.0) * math.sqrt(inflation / n)


def _noise(distances: Values) -> float:
    """The noise of one value, for stretches too short to tell it themselves."""
    finite = distances[np.isfinite(distances)]
    if len(finite) >= 4:
        return noise_sd(finite)
    return MAD_TO_SD * float(np.median(np.abs(np.diff(finite)))) / math.sqrt(2.0) if len(finite) > 2 else 0.0
