"""What each framework's settings may be called: one file per framework, found by folder.

A module holds FRAMEWORK (its name), PACKAGES (what a program imports that uses it; empty for one that reads
its settings by itself, whatever the program does) and `held(sections)`: the sections of a settings file that
demonstrably go to the framework, each with the record of names that it takes there. The names come from
`tables/`, which `scripts/write_schemas.py` writes from the frameworks' releases.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from types import ModuleType

from stethoscope.discovery import modules_in
from stethoscope.recipe.schemas._nearest import Likeness, nearest
from stethoscope.recipe.schemas._sections import Held, Sections, sections
from stethoscope.recipe.schemas._table import Name, Record, Standing, Table, Version, called, number, table

__all__ = [
    "Held",
    "Likeness",
    "Name",
    "Record",
    "Sections",
    "Standing",
    "Table",
    "Version",
    "called",
    "frameworks",
    "held",
    "nearest",
    "number",
    "sections",
    "table",
]


def held(parted: Sections) -> Iterator[tuple[ModuleType, Held]]:
    """Every section that goes to a framework, with the framework."""
    for module in frameworks():
        yield from ((module, one) for one in module.held(parted))


@cache
def frameworks() -> tuple[ModuleType, ...]:
    """The frameworks known here."""
    return tuple(module for module in modules_in(__name__) if hasattr(module, "FRAMEWORK"))
