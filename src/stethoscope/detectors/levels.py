"""Levels of a noisy curve: medians of stretches around each value, so that a few batches are no level."""

from __future__ import annotations

import numpy as np

from stethoscope.run import Values

STRETCH = 0.05  # of the curve
SHORTEST = 3  # values
MOST = 512  # places at which a long curve is looked at; between them the level is a line


def levels(values: Values) -> Values:
    """The level around each value."""
    if len(values) == 0:
        return values
    half = max(SHORTEST, int(STRETCH * len(values))) // 2
    places = np.unique(np.linspace(0, len(values) - 1, min(len(values), MOST)).round().astype(np.int64))
    padded = np.pad(values, half, mode="edge")
    around = [float(np.median(padded[place : place + 2 * half + 1])) for place in places.tolist()]
    found: Values = np.interp(np.arange(len(values)), places, around)
    return found
