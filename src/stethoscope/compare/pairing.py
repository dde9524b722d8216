"""A signal of two runs, or of several, side by side at the same steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stethoscope.run import Series, Steps, Values

SHARED = 0.5  # of the sparser series' steps: with fewer in common, stretches are compared by their means
MOST_STRETCHES = 2048
AXES = {"step": "steps", "epoch": "epochs", "kimg": "thousands of images", "row": "rows of a table"}


@dataclass(frozen=True, slots=True, eq=False)
class Paired:
    """The values of one signal at common steps: `good` has a row for each good run.

    `stretched` says that a value is the mean over the steps since the one before.
    """

    name: str
    steps: Steps
    good: npt.NDArray[np.float64]
    bad: Values
    stretched: bool = False

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def middle(self) -> Values:
        """The mean of the good runs."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean: Values = self.good.mean(axis=0)
        return mean

    def cut(self, count: int) -> Paired:
        """The first so many points."""
        return Paired(self.name, self.steps[:count], self.good[:, :count], self.bad[:count], self.stretched)

    def kept(self, keep: npt.NDArray[np.bool_]) -> Paired:
        """The points of a mask."""
        return Paired(self.name, self.steps[keep], self.good[:, keep], self.bad[keep], self.stretched)


def paired(goods: Sequence[Series], bad: Series) -> Paired | str:
    """The signal at the steps that all series have, or the reason why it cannot be compared."""
    every = [*goods, bad]
    if any(len(series) == 0 for series in every):
        return "one of the runs has no value of it"
    axes = {series.axis for series in every}
    if len(axes) > 1:
        spoken = " and ".join(sorted(AXES.get(axis, axis) for axis in axes))
        return f"the runs count differently: {spoken}"
    first = max(int(series.steps[0]) for series in every)
    last = min(int(series.steps[-1]) for series in every)
    if first > last:
        return "the runs have no steps in common"
    common = every[0].steps
    for series in every[1:]:
        common = np.intersect1d(common, series.steps)
    if len(common) and len(common) >= SHARED * min(len(series.between(first, last)) for series in every):
        return _at(common, goods, bad)
    return _in_stretches(first, last, goods, bad)


def _at(steps: Steps, goods: Sequence[Series], bad: Series) -> Paired:
    good, other = np.stack([_values(one, steps) for one in goods]), _values(bad, steps)
    size = -(-len(steps) // MOST_STRETCHES)
    if size == 1:
        return Paired(bad.name, steps, good, other)
    starts = np.arange(0, len(steps), size)
    ends = np.append(starts[1:], len(steps)) - 1
    return Paired(
        bad.name, steps[ends], np.stack([_means(row, starts) for row in good]), _means(other, starts), True
    )


def _values(series: Series, steps: Steps) -> Values:
    return series.values[np.searchsorted(series.steps, steps)]


def _means(values: Values, starts: npt.NDArray[np.int64]) -> Values:
    counts = np.diff(np.append(starts, len(values)))
    with np.errstate(over="ignore", invalid="ignore"):
        means: Values = np.add.reduceat(values, starts) / counts
    return means


def _in_stretches(first: int, last: int, goods: Sequence[Series], bad: Series) -> Paired | str:
    """The means over stretches in which every run has a value, as wide as the widest gap between two."""
    every = [*goods, bad]
    width = max(1, max(series.cadence() for series in every), -(-(last - first) // MOST_STRETCHES))
    edges = np.arange(first - 1, last + width, width)
    if len(edges) < 2:
        return "the runs have no steps in common"
    rows = [_binned(series, edges) for series in every]
    filled = np.all([count > 0 for _, count in rows], axis=0)
    if not filled.any():
        return "the runs have no steps in common"
    means = np.stack([total[filled] / count[filled] for total, count in rows])
    return Paired(bad.name, np.minimum(edges[1:], last)[filled], means[:-1], means[-1], True)


def _binned(series: Series, edges: Steps) -> tuple[Values, npt.NDArray[np.int64]]:
    """The sum and the number of the values behind each edge, up to the next one."""
    inside = (series.steps > edges[0]) & (series.steps <= edges[-1])
    place = np.searchsorted(edges, series.steps[inside], side="left") - 1
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.bincount(place, weights=series.values[inside], minlength=len(edges) - 1)
    counts = np.bincount(place, minlength=len(edges) - 1)
    return np.asarray(total, dtype=np.float64), np.asarray(counts, dtype=np.int64)
