"""A curve as the numbers a page holds: thinned to what a screen shows, without losing what matters.

Of every column the first, last, lowest and highest point are kept (M4), so that a spike of one step stays;
stretches without a finite value stay gaps; around the steps that are marked every point is kept. A smoothed
line is drawn from means, which are taken of all points before they are thinned.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from stethoscope.figures.thinning import PER_COLUMN, line_parts
from stethoscope.run import Series, Values

Numbers = NDArray[np.float64]
Json = dict[str, object]

DIGITS = 6  # of a value; a screen shows three or four
FARTHEST = 1e300  # larger values leave what a script's axis can span
NEIGHBOURS = 12  # points on both sides of a marked step that are kept as they are
MEANS = 240  # stretches that a smoothed line is made from
MOST_NON_FINITE = 200  # places of values that are not finite, each for all of its stretch


def curve_data(series: Series, columns: int, marked: Iterable[int] = ()) -> Json:
    """The series for the script: steps as differences, values with null for gaps."""
    steps, values = _kept(series, columns, marked)
    bad = ~np.isfinite(series.values)
    return {
        "steps": _differences(steps),
        "values": _written(values),
        "means": _means(series),
        "nonFinite": _places(series.steps[bad]),
        "points": len(series),
        "kept": int(np.isfinite(values).sum()),
    }


def thinned(series: Series, columns: int) -> tuple[Numbers, Numbers]:
    """Steps and values of a line that looks the same in that many columns of pixels; NaN parts it."""
    return _kept(series, columns, ())


def _kept(series: Series, columns: int, marked: Iterable[int]) -> tuple[Numbers, Numbers]:
    if len(series) == 0:
        return np.empty(0), np.empty(0)
    steps = series.steps.astype(np.float64)
    values = np.where(np.isfinite(series.values), np.clip(series.values, -FARTHEST, FARTHEST), np.nan)
    span = max(float(steps[-1] - steps[0]), 1.0)
    parts = line_parts((steps - steps[0]) / span * columns, values, columns)
    if len(series) > PER_COLUMN * columns:
        near = _near(series, marked)
        parts = [np.union1d(part, near[(near >= part[0]) & (near <= part[-1])]) for part in parts]
    return _parted(steps, values, [part for part in parts if len(part)])


def _near(series: Series, marked: Iterable[int]) -> NDArray[np.intp]:
    """The points around every marked step."""
    at = np.searchsorted(series.steps, np.array([*marked], dtype=np.int64))
    around = np.add.outer(at, np.arange(-NEIGHBOURS, NEIGHBOURS + 1)).ravel()
    inside: NDArray[np.intp] = np.unique(around[(around >= 0) & (around < len(series))])
    return inside[np.isfinite(series.values[inside])]


def _parted(steps: Numbers, values: Numbers, parts: list[NDArray[np.intp]]) -> tuple[Numbers, Numbers]:
    """The points in a row, with a NaN between two pieces, at the first step that has no value."""
    xs, ys = [], []
    for number, part in enumerate(parts):
        if number:
            xs.append(steps[[parts[number - 1][-1] + 1]])
            ys.append(np.array([np.nan]))
        xs.append(steps[part])
        ys.append(values[part])
    return (np.concatenate(xs), np.concatenate(ys)) if xs else (np.empty(0), np.empty(0))


def _means(series: Series) -> Json | None:
    """The mean step and value of each stretch of a long series; None where the points themselves are few."""
    finite = series.finite()
    if len(finite) <= MEANS:
        return None
    stretches = np.array_split(np.arange(len(finite)), MEANS)
    values = np.clip(finite.values, -FARTHEST, FARTHEST)
    steps = np.array([finite.steps[part[len(part) // 2]] for part in stretches], dtype=np.float64)
    means = np.array([_mean(values[part]) for part in stretches])
    return {"steps": _differences(steps), "values": _written(means)}


def _mean(values: Values) -> float:
    return float((values / len(values)).sum())


def _places(steps: NDArray[np.int64]) -> list[list[int]]:
    """First step and count of every stretch of these steps."""
    if len(steps) == 0:
        return []
    parts = np.array_split(steps, min(len(steps), MOST_NON_FINITE))
    return [[int(part[0]), len(part)] for part in parts]


def _differences(steps: Numbers) -> list[int]:
    whole = steps.astype(np.int64)
    differences: list[int] = np.diff(whole, prepend=0).tolist()
    return differences


def _written(values: Numbers) -> list[float | None]:
    return [float(f"{value:.{DIGITS}g}") if value == value else None for value in values.tolist()]
