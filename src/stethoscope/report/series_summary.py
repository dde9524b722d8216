"""A series in a few numbers, and the order in which people look for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from stethoscope.inventory import Told
from stethoscope.run import Series


@dataclass(frozen=True, slots=True)
class Summary:
    """How many points, from where to where; `low` and `high` are of the finite values, None without any."""

    points: int
    non_finite: int
    first_step: int
    last_step: int
    first: float
    last: float
    low: float | None
    high: float | None


def summary(series: Series) -> Summary:
    """The numbers of a series, which must not be empty."""
    finite = series.values[np.isfinite(series.values)]
    return Summary(
        len(series),
        len(series) - len(finite),
        int(series.steps[0]),
        int(series.steps[-1]),
        float(series.values[0]),
        float(series.values[-1]),
        float(finite.min()) if len(finite) else None,
        float(finite.max()) if len(finite) else None,
    )


# What a person looks for first; the rest follows by name.
_FIRST = ("loss", "loss/", "val/", "train/", "lr", "lr/", "grad_norm", "loss_scale")


def in_order(told: Iterable[Told]) -> list[Told]:
    """The series that tell how the training went, before those that tell how it was done."""
    return sorted(told, key=lambda one: (_rank(one.series.name), one.series.name))


def _rank(name: str) -> int:
    matching = (
        place
        for place, first in enumerate(_FIRST)
        if name == first or (first.endswith("/") and name.startswith(first))
    )
    return next(matching, len(_FIRST))


def chosen(told: Iterable[Told], patterns: Iterable[str]) -> list[Told]:
    """The series whose canonical or logged name fits one of the patterns; all where there is none."""
    wanted = tuple(patterns)
    return [one for one in told if not wanted or any(_fits(one, pattern) for pattern in wanted)]


def _fits(one: Told, pattern: str) -> bool:
    names = {one.series.name, one.series.logged_as, *(source.logged_as for source in one.sources)}
    return any(fnmatchcase(name, pattern) for name in names)
