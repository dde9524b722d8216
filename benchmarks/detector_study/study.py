"""What a study is: a detector's question, healthy curves it must pass, and faults it must find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Draw = Callable[[np.random.Generator, int], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Cell:
    """One kind of data: what it is, how many points each has, and a function that draws many of them."""

    label: str
    count: int
    draw: Draw


@dataclass(frozen=True, slots=True)
class Study:
    """One detector: `says` answers for one drawn thing; `nominal` is the error rate it aims at.

    `nominal` is None where the detector names no level; `repeats` are the draws of each cell in full size.
    """

    detector: str
    question: str
    nominal: float | None
    says: Callable[[Any], bool]
    healthy: tuple[Cell, ...]
    faults: tuple[Cell, ...]
    repeats: int = 400


@dataclass(frozen=True, slots=True)
class Rate:
    """How often a detector spoke in one cell."""

    detector: str
    kind: str
    label: str
    count: int
    repeats: int
    spoke: int


def rates(study: Study, share: float) -> list[Rate]:
    """Draw every cell and count; `share` of the repeats of a full study."""
    repeats = max(20, round(study.repeats * share))
    found = []
    for kind, cells in (("healthy", study.healthy), ("fault", study.faults)):
        for cell in cells:
            drawn = cell.draw(np.random.default_rng(_seed(study.detector, cell)), repeats)
            with np.errstate(all="ignore"):
                spoke = sum(bool(study.says(one)) for one in drawn)
            found.append(Rate(study.detector, kind, cell.label, cell.count, repeats, spoke))
    return found


def _seed(detector: str, cell: Cell) -> list[int]:
    """The same draws every time, and others in every cell."""
    return [cell.count, *f"{detector}|{cell.label}".encode()]
