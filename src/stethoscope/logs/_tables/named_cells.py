"""The cells of one row as named values; in a long table a row names its value itself.

step,loss,lr         step,tag,value
10,2.31,1e-4         10,loss,2.31
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.logs._reading.numbers import number
from stethoscope.logs._tables.table import TAG_KEYS


def long_form(names: list[str]) -> tuple[int, int] | None:
    """Where the name and the value stand in a table of one value per row; None for any other table."""
    lowered = [name.lower() for name in names]
    tag = next((lowered.index(name) for name in TAG_KEYS if name in lowered), None)
    return (tag, lowered.index("value")) if tag is not None and "value" in lowered else None


def long_values(names: list[str], cells: list[str], tag: int, value: int) -> Iterator[tuple[str, float]]:
    """The values of a row of a long table, under the name that the row gives."""
    named = [*names]
    named[value] = cells[tag].strip()
    yield from ((name, number_) for name, number_ in values_in(named, cells) if name != names[tag])


def values_in(names: list[str], cells: list[str]) -> Iterator[tuple[str, float]]:
    """The numbers of a row under the names of their columns; what is no number is left out."""
    for name, cell in zip(names, cells, strict=False):
        if cell and name:
            value = cell_value(cell)
            if value is not None:
                yield name, value


def cell_value(cell: str) -> float | None:
    """The number that a cell holds, if it does; a percentage is the number before its sign."""
    value = number(cell)
    return number(cell.strip().removesuffix("%")) if value is None else value
