"""Long series made short without a visible difference.

A column of pixels shows no more of a line than where it enters, where it leaves, and its extremes (M4). A
million points become a few thousand, and a spike of one step stays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stethoscope.figures.chart import Numbers

Indices = NDArray[np.intp]

PER_COLUMN = 4  # first, last, lowest and highest
DOT = 3.0  # pixels: of dots that lie closer than this in both directions one is kept
PER_PIXEL = 2.0  # a path that turns back is kept to this many points a pixel


def line_parts(x: Numbers, y: Numbers, columns: int) -> list[Indices]:
    """The points to draw, in pieces that are joined; what is not finite parts two pieces."""
    finite = np.isfinite(x) & np.isfinite(y)
    kept = np.flatnonzero(finite)
    if len(kept) == 0:
        return []
    cells = np.floor(x[kept]).astype(np.int64)
    thinned = len(kept) > PER_COLUMN * columns
    if thinned:
        rising = bool((np.diff(x[kept]) >= 0).all())
        chosen = _extremes(cells, y[kept]) if rising else _moved(x[kept], y[kept])
        kept, cells = kept[chosen], cells[chosen]
    gaps = np.cumsum(~finite)[kept]
    # A gap narrower than a column cannot be seen, and would part the column's own extremes.
    parted = (np.diff(gaps) > 0) & ((np.diff(cells) != 0) | (not thinned))
    return np.split(kept, np.flatnonzero(parted) + 1)


def band_parts(
    x: Numbers, low: Numbers, high: Numbers, columns: int
) -> list[tuple[Numbers, Numbers, Numbers]]:
    """The outline of a band in pieces: its places, its lower and its upper edge."""
    finite = np.isfinite(x) & np.isfinite(low) & np.isfinite(high)
    kept = np.flatnonzero(finite)
    if len(kept) == 0:
        return []
    gaps = np.cumsum(~finite)[kept]
    x, low, high = x[kept], low[kept], high[kept]
    if len(kept) > PER_COLUMN * columns and bool((np.diff(x) >= 0).all()):
        starts = np.flatnonzero(np.diff(np.floor(x), prepend=-np.inf))
        x, gaps = x[starts], gaps[starts]
        low, high = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
    cuts = np.flatnonzero(np.diff(gaps) > 0) + 1
    return list(zip(np.split(x, cuts), np.split(low, cuts), np.split(high, cuts), strict=True))


def dots(x: Numbers, y: Numbers) -> Indices:
    """Of the finite points those that do not hide behind another."""
    kept = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    cells = np.stack([np.floor(x[kept] / DOT), np.floor(y[kept] / DOT)], axis=1)
    _, first = np.unique(cells, axis=0, return_index=True)
    return kept[np.sort(first)]


def _extremes(cells: NDArray[np.int64], y: Numbers) -> Indices:
    """The first, last, lowest and highest point of every column; `cells` does not fall."""
    starts = np.flatnonzero(np.diff(cells, prepend=cells[0] - 1))
    ends = np.append(starts[1:], len(cells)) - 1
    lengths = ends - starts + 1
    lowest = np.flatnonzero(y == np.repeat(np.minimum.reduceat(y, starts), lengths))
    highest = np.flatnonzero(y == np.repeat(np.maximum.reduceat(y, starts), lengths))
    first_lowest = lowest[np.diff(cells[lowest], prepend=cells[0] - 1) != 0]
    last_highest = highest[np.diff(cells[highest], append=cells[-1] + 1) != 0]
    return np.unique(np.concatenate([starts, ends, first_lowest, last_highest]))


def _moved(x: Numbers, y: Numbers) -> Indices:
    """The points that are somewhere else than the point before them."""
    place = np.stack([np.floor(x * PER_PIXEL), np.floor(y * PER_PIXEL)], axis=1)
    moved = np.append(True, (np.diff(place, axis=0) != 0).any(axis=1))
    moved[-1] = True
    return np.flatnonzero(moved)
