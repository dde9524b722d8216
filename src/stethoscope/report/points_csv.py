"""Points as CSV: readable by everything, and every value reads back as it was."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from stethoscope.report.points import COLUMNS, Rows

ROWS_AT_ONCE = 50_000
_QUOTED = frozenset(',"\r\n')


def write(rows: Iterable[Rows], file: TextIO) -> None:
    """Write a header and one line per value; what is not finite reads nan, inf or -inf."""
    file.write(",".join(COLUMNS) + "\n")
    for part in rows:
        before = f"{_cell(part.run)},{_cell(part.series)},"
        after = f",{_cell(part.logged_as)},{_cell(part.file)},{_cell(part.axis)},{part.segment or ''}\n"
        for first in range(0, len(part.steps), ROWS_AT_ONCE):
            steps = part.steps[first : first + ROWS_AT_ONCE].tolist()
            values = part.values[first : first + ROWS_AT_ONCE].tolist()
            file.write(
                "".join(f"{before}{step},{value!r}{after}" for step, value in zip(steps, values, strict=True))
            )


def _cell(text: str) -> str:
    if not _QUOTED.intersection(text):
        return text
    return '"' + text.replace('"', '""') + '"'
