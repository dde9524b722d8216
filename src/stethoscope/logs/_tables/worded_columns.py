"""Columns of a table that hold more than numbers.

2026-11-15 12:00:01     the time of day, which tells when the run began and was last written to
00:12:31                a time that was taken
12ms, 1.2 GB            numbers, each with the same unit
cat                     words, which may be the labels of examples
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import numpy.typing as npt

from stethoscope.logs._reading.clock import stamp_of
from stethoscope.logs._reading.digits import decimals
from stethoscope.logs._reading.points import MAX_SERIES
from stethoscope.logs._tables.cells import Cells, Mask
from stethoscope.logs._tables.no_logs import FEWEST_LABELS
from stethoscope.logs._tables.table import Table

Rows = npt.NDArray[np.int64]


@dataclass(slots=True)
class WordedColumns:
    """What was seen in the columns that hold more than numbers, by name."""

    clocks: dict[str, tuple[float, float]] = field(default_factory=dict)  # the first time and the last
    words: dict[str, set[str]] = field(default_factory=dict)
    units: dict[str, bytes] = field(default_factory=dict)

    def look(
        self, table: Table, names: Sequence[str], cells: Cells, rows: Rows, lines: Rows, good: Mask
    ) -> None:
        """Note what the columns hold that are no numbers: the time of day, numbers with a unit, or labels."""
        if good[:, :MAX_SERIES].all():
            return
        which = cells.first[lines][:, None] + np.arange(min(good.shape[1], MAX_SERIES))
        said = ~good[:, :MAX_SERIES] & (cells.ends[which] > cells.starts[which])
        for column in np.flatnonzero(said.any(axis=0)).tolist():
            name = names[column]
            worded, standing = lines[said[:, column]], rows[said[:, column]]
            ends = [cells.cell(int(cells.first[line]) + column) for line in (worded[0], worded[-1])]
            stamps = [_stamp(text) for text in ends]
            if stamps[0] is not None and stamps[1] is not None:
                self.clocks[name] = (self.clocks.get(name, stamps)[0] or stamps[0], stamps[1])
            elif name and self._has_unit(cells, cells.first[worded] + column, name):
                self._add_with_unit(table, cells, standing, cells.first[worded] + column, name)
            elif len(self.words.setdefault(name, set())) < FEWEST_LABELS:
                self.words[name].update(text for text in ends if text and not is_time(text))

    def _has_unit(self, cells: Cells, which: Rows, name: str) -> bool:
        """Whether a column's numbers have a unit: the first one that any of its cells has."""
        if name not in self.units:
            first, last = cells.buffer[cells.starts[which]], cells.buffer[cells.ends[which] - 1]
            for at in which[((first <= ord("9")) & (last > ord("9"))) | (last == ord("%"))].tolist():
                if unit := UNIT.fullmatch(cells.cell(at).strip()):
                    self.units[name] = unit[1].encode()
                    break
        return name in self.units

    def _add_with_unit(self, table: Table, cells: Cells, rows: Rows, which: Rows, name: str) -> None:
        """Read a column whose numbers are all followed by one unit: 12ms, 1.2 GB."""
        unit = self.units[name]
        starts, ends = cells.starts[which], cells.ends[which]
        fits = ends - starts > len(unit)
        for back, character in enumerate(reversed(unit), 1):
            fits &= cells.buffer[ends - back] == character
        values, good = decimals(cells.buffer, starts[fits], ends[fits] - len(unit))
        table.add_block(name, rows[fits][good], values[good])


UNIT = re.compile(r"[-+]?\d[\d.]*(?:[eE][-+]?\d+)?(\s?[A-Za-z]{1,3}(?:/[A-Za-z]{1,5})?)")
_TIME = re.compile(r"\d{1,3}:\d\d(?::\d\d)?(?:[.,]\d+)?")


def is_time(cell: str) -> bool:
    """Whether a cell tells a time: a date, or hours and minutes."""
    return bool(_TIME.fullmatch(cell.strip())) or _stamp(cell) is not None


def _stamp(cell: str) -> float | None:
    text = cell.strip()
    if not text[:1].isdigit() or not {"-", "/"} & {*text}:
        return None
    try:
        return stamp_of(text) or datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
