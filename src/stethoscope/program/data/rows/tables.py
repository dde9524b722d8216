"""What rows are followed as: tables, rows chosen from them, and what was measured over some of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stethoscope.program.walk.values import Site

LENGTHS = (4_000, 150_000)  # of every table whose length is not known, one after the other
COUNT = 40  # what a number that is not known is taken for where rows are counted by it
SHARE = 0.13  # and where a length is multiplied by it

Places = npt.NDArray[Any]

_length: ContextVar[int] = ContextVar("length", default=LENGTHS[0])


@contextmanager
def tables_of(length: int) -> Iterator[None]:
    """Let every table have so many rows."""
    token = _length.set(length)
    try:
        yield
    finally:
        _length.reset(token)


@dataclass(frozen=True, slots=True, eq=False)
class Statistic:
    """What was measured over some rows of a table: a mean, a deviation, a fitted scaler."""

    origin: object
    places: Places
    site: Site


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of one table; `guessed` are the conditions that chose them, which nobody can know.

    A table of which nothing is known has all of its rows; `scaled` are the statistics that changed them.
    """

    origin: object
    places: Places
    guessed: frozenset[str] = frozenset()
    scaled: tuple[Statistic, ...] = ()
    is_whole: bool = False

    def chosen(self, places: Places, guessed: frozenset[str] = frozenset()) -> Rows:
        """The rows at some places of these."""
        return replace(self, places=self.places[places], guessed=self.guessed | guessed, is_whole=False)

    def by(self, statistics: Sequence[Statistic]) -> Rows:
        """The same rows, changed by what was measured."""
        return replace(self, scaled=(*self.scaled, *statistics))


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Numbers of rows, or a mask over them, and the conditions that they come from."""

    places: Places
    guessed: frozenset[str] = frozenset()


@dataclass(slots=True, eq=False)
class Thing:
    """An object of a class of the program, or a scaler: what it was given."""

    cls: object
    attributes: dict[str, Any] = field(default_factory=dict)
    fitted: Statistic | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Each:
    """A list that has such an element for each of many things, none of which is known."""

    element: Any


def table(origin: object) -> Rows:
    """All rows of something of which nothing is known."""
    return Rows(origin, np.arange(_length.get()), is_whole=True)


def longest() -> int:
    """More numbers than this are not followed."""
    return 2 * _length.get()


def numbered(value: Any) -> Numbers | None:
    """What rows can be chosen with: an array, or a list of numbers."""
    if isinstance(value, Numbers):
        return value
    if isinstance(value, range):
        return Numbers(np.asarray(value)) if len(value) <= longest() else None
    if isinstance(value, list | tuple) and value and all(type(one) is int for one in value):
        return Numbers(np.asarray(value))
    return None


def statistics_in(value: Any) -> Iterator[Statistic]:
    """What was measured, wherever it stands in a value."""
    if isinstance(value, Statistic):
        yield value
    elif isinstance(value, tuple | list) and len(value) < 10:
        for one in value:
            yield from statistics_in(one)
