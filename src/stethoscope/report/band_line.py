"""A run against its band in the height of one line: below, inside or above, stretch by stretch."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from stethoscope.run import Series
from stethoscope.trajectory.trajectory import Held

BLOCKS = "▁▂▃▄▅▆▇█"
ABOVE, BELOW, NOT_FINITE, NOT_REACHED, UNKNOWN = "↑", "↓", "x", "·", " "
ASCII = {**dict(zip(BLOCKS, "12345678", strict=True)), ABOVE: "^", BELOW: "v", NOT_REACHED: "."}
LEGEND = (
    "where the run lies in its band: ▁ at its lower side, █ at its upper, ↑ above, ↓ below, · not reached"
)
ASCII_LEGEND = (
    "where the run lies in its band: 1 at its lower side, 8 at its upper, ^ above, v below, . not reached"
)


def band_line(held: Held, series: Series, width: int, only_ascii: bool = False) -> str:
    """The place of the run's typical value in its band, from the first named step to the last."""
    edges = np.linspace(held.first, held.last + 1, width + 1)
    drawn = "".join(_letter(held, series, begin, end) for begin, end in pairwise(edges))
    return "".join(ASCII.get(letter, letter) for letter in drawn) if only_ascii else drawn


def _letter(held: Held, series: Series, begin: float, end: float) -> str:
    inside = series.select((series.steps >= begin) & (series.steps < end))
    if not len(inside):
        return NOT_REACHED if not len(series) or begin > series.steps[-1] else UNKNOWN
    finite = inside.finite()
    if not len(finite):
        return NOT_FINITE
    low, high = held.at(finite.steps, "low"), held.at(finite.steps, "high")
    values = held.scaled(finite.values)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        if np.isnan(low).all():
            return ABOVE if float(np.median(values - high)) > 0.0 else BLOCKS[3]
        if np.isnan(high).all():
            return BELOW if float(np.median(values - low)) < 0.0 else BLOCKS[3]
        share = float(np.median((values - low) / np.maximum(high - low, 1e-300)))
    if not 0.0 <= share <= 1.0:
        return ABOVE if share > 1.0 else BELOW
    return BLOCKS[min(int(share * len(BLOCKS)), len(BLOCKS) - 1)]
