"""A fault of the catalogue, or something harmless that looks like one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from stethoscope.discovery import modules_in, spoken_name, summary


class Kind(StrEnum):
    """How a fault gets into a run."""

    SOURCE = "source"
    SETTINGS = "settings"
    DATA = "data"
    RUNTIME = "runtime"


@dataclass(frozen=True, slots=True)
class Operator:
    """What a file of `operators/` declares; its name is the file's, its title the docstring.

    `cause` is the slug of the catalogue, `or_else` are other causes that would be a right answer, since
    nothing in such a run could tell them apart. `benign` says that nothing is wrong.
    """

    cause: str
    kind: Kind
    or_else: tuple[str, ...] = ()
    benign: bool = False


@dataclass(frozen=True, slots=True)
class OperatorEntry:
    """An operator as the catalogue knows it."""

    name: str
    title: str
    operator: Operator

    @property
    def acceptable(self) -> frozenset[str]:
        """Every cause that would be a right answer."""
        return frozenset((self.operator.cause, *self.operator.or_else))


@cache
def operators() -> dict[str, OperatorEntry]:
    """Every operator by its name."""
    modules = modules_in(f"{__package__}.operators")
    entries = (OperatorEntry(spoken_name(one), summary(one), one.OPERATOR) for one in modules)
    return {entry.name: entry for entry in entries}
