"""One measured quantity over the steps of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from stethoscope.run.where import Where

Steps = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]


class Aggregation(StrEnum):
    """What one logged value stands for."""

    INSTANT = "instant"
    WINDOW_MEAN = "window mean"
    RUNNING_MEAN = "running mean"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """A signal under its canonical name, in the order of its steps (strictly increasing in a `Run`).

    `logged_as` is the name in the log; `axis` says what a step is ("step", "epoch", "kimg", "row").
    `lines` are the first and last line of the file that hold it, where it has lines.
    """

    name: str
    logged_as: str
    steps: Steps
    values: Values
    file: str = ""
    aggregation: Aggregation = Aggregation.UNKNOWN
    axis: str = "step"
    lines: tuple[int, int] | None = None

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[tuple[int, float]]:
        return zip(self.steps.tolist(), self.values.tolist(), strict=True)

    def where(self, first: int | None = None, last: int | None = None) -> Where:
        """The address of these steps; of the whole series when none are given."""
        if len(self) == 0:
            return Where(self.file, series=self.name)
        if first is None:
            first, last = int(self.steps[0]), int(self.steps[-1])
        return Where(self.file, series=self.name, steps=(int(first), int(first if last is None else last)))

    def finite(self) -> Series:
        """The points whose value is finite."""
        keep = np.isfinite(self.values)
        return self if keep.all() else self.select(keep)

    def select(self, keep: npt.NDArray[np.bool_] | npt.NDArray[np.int64] | slice) -> Series:
        """The points chosen by a mask, indices or slice."""
        return replace(self, steps=self.steps[keep], values=self.values[keep])

    def between(self, first: int, last: int) -> Series:
        """The points with first <= step <= last."""
        return self.select((self.steps >= first) & (self.steps <= last))

    def cadence(self) -> int:
        """The usual number of steps between two points; 0 for fewer than two points."""
        return int(np.median(np.diff(self.steps))) if len(self) > 1 else 0
