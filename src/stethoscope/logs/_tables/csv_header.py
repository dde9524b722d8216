"""The header of a table: what separates its cells, and what its columns are called.

step,loss,lr
# step loss lr                            as a comment (NumPy)
"Step","run - loss","run - loss__MIN"     of a download from W&B: the run's name, and a value's range
Wall time,Step,Value                      in run-x-tag-loss.csv: a download from TensorBoard
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from stethoscope.logs._reading.numbers import number
from stethoscope.logs._tables.table import AXIS_COLUMNS, TIME_COLUMNS, of_validation, spoken
from stethoscope.run.names import known

SEPARATORS = (",", "\t", ";", "|")
_TAG = re.compile(r"tag-(?P<tag>.+)\.csv$")  # TensorBoard's "download CSV": run-x-tag-loss.csv


def separator_in(lines: Sequence[str]) -> str | None:
    """What separates the cells, by the first line that holds any; None for blanks."""
    text = uncommented(next((line for line in lines if line.strip("# \t\r\n")), ""))
    bare = re.sub(r'"[^"]*"', "", text)  # a quoted name may hold a comma
    most = max(SEPARATORS, key=bare.count)
    return most if most in bare else None


def with_cells(lines: Sequence[str]) -> Iterator[str]:
    """The lines that hold cells: the header may be a comment, what follows may not."""
    first = True
    for line in lines:
        text = uncommented(line) if first else line
        if text.strip() and not text.startswith("#") and not RULE.fullmatch(text):
            first = False
            yield text.rstrip("\r\n")


RULE = re.compile(r"[-=+|: \t]*[-=][-=+|: \t]*")  # a line drawn under a header


def uncommented(line: str) -> str:
    """A header that NumPy and others write as a comment, as a line."""
    return line.lstrip("# \t") if line.lstrip().startswith("#") else line


def is_value(cell: str) -> bool:
    """Whether a cell is a number; NaN may as well be the beginning of a name."""
    return number(cell) is not None and not cell.strip().lower().startswith(("nan", "inf"))


def is_header(row: list[str]) -> bool:
    """Whether a row names columns, at least two of them as a log does."""
    filled = [cell for cell in row if cell.strip()]
    return len(filled) > 1 and not any(is_value(cell) for cell in filled) and sum(map(_speaks, filled)) > 1


def _speaks(cell: str) -> bool:
    return known(cell) or spoken(cell) in AXIS_COLUMNS


def signal_names(row: Sequence[str], file: str) -> list[str]:
    """One name for each column; a column that only repeats another has none."""
    names: list[str] = []
    taken: set[str] = set()
    for cell in row:
        name = cell.strip().strip('"').strip()
        names.append(f"{name} (column {len(names) + 1})" if name and name in taken else name)
        taken.add(name)
    tag = _TAG.search(file)
    if tag and [name.lower() for name in names] == ["wall time", "step", "value"]:
        return [*names[:2], tag["tag"].replace("_", "/", 1)]
    return _without_run(names)


_RANGE = re.compile(r"(.+)__(?:MIN|MAX)")
_OF_RUN = re.compile(r"(?P<run>.+?) - (?P<name>.+)")


def _without_run(names: list[str]) -> list[str]:
    """The names of a table downloaded from W&B, without the one run's name and without ranges."""
    whole = set(names)
    kept = ["" if (r := _RANGE.fullmatch(name)) and r[1] in whole else name for name in names]
    if len(runs_in(kept)) != 1:
        return kept
    return [part["name"] if (part := _OF_RUN.fullmatch(name)) else name for name in kept]


def runs_in(names: Sequence[str]) -> set[str]:
    """The runs that a table downloaded from W&B compares; none for any other table."""
    parts = [_OF_RUN.fullmatch(name) for name in names if name and spoken(name) not in _OWN_COLUMNS]
    return {part["run"] for part in parts if part} if parts and all(parts) else set()


_OWN_COLUMNS = AXIS_COLUMNS | {*TIME_COLUMNS, "relative_time_(wall)", "relative_time_(process)"}


def held_out_names(names: list[str]) -> list[str]:
    """The names of a row that was measured on held-out data."""
    return [name if spoken(name) in _OWN_COLUMNS else of_validation(name) for name in names]
