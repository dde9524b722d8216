"""Tables of comma-, semicolon- or tab-separated values: one row per step, one column per signal.

step,loss,lr                      an ordinary table
,0.099,0,,49,,0.147               sparse rows (Lightning): an empty cell is a value that was not logged
epoch,   train/box_loss,   ...    padded headers (Ultralytics)
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from stethoscope.errors import UnreadableFile
from stethoscope.logs._head import Head
from stethoscope.logs._lines import LONGEST_LINE
from stethoscope.logs._numbers import number
from stethoscope.logs._table import TAG_KEYS, Table, looks_like_log
from stethoscope.run import Log
from stethoscope.run.names import known

FORMAT = "CSV table"

SEPARATORS = (",", "\t", ";", "|")
_NAME = re.compile(r"[\w /.@%()\[\]:<>*#^~+-]{0,200}")
_TAG = re.compile(r"tag-(?P<tag>.+)\.csv$")  # TensorBoard's "download CSV": run-x-tag-loss.csv
HALF = 0.5
ROWS_AT_ONCE = 4096  # turned into numbers together


def recognise(head: Head) -> float:
    """A header of names, some of them a training log's, above rows of as many cells, mostly numbers."""
    if head.binary or head.prose:
        return 0.0
    rows = list(_rows(head.text.splitlines()[:20]))
    header = rows[0] if rows else []
    named = all(_NAME.fullmatch(cell) for cell in header) and not any(_is_value(cell) for cell in header)
    if len(header) < 2 or not named:
        return 0.0
    if len(rows) == 1:  # a header longer than the head
        return 0.5 if head.end and looks_like_log(header) else 0.0
    first = rows[1]
    if abs(len(first) - len(header)) > 1:
        return 0.0
    filled = [cell for cell in first if cell.strip()]
    numeric = [cell for cell in filled if number(cell) is not None]
    if not filled or len(numeric) < HALF * len(filled) or not looks_like_log(header):
        return 0.0
    return 0.8


def read(head: Head) -> Log:
    """Each column against the column that counts steps."""
    table, notes = Table(), []
    long_form: tuple[int, int] | None = None
    with head.opened_text(newline="") as stream:
        lines = iter(lambda: stream.readline(LONGEST_LINE), "")
        names: list[str] = []
        held: list[list[str]] = []
        ragged = 0
        for row in _rows(lines):
            if long_form and len(row) == len(names):
                table.add(_long_values(names, row, *long_form))
                continue
            if len(row) == len(names) and len(held) < ROWS_AT_ONCE and not _is_header(row):
                held.append(row)
                continue
            table.add_rows(names, held)
            held = []
            if not names or _is_header(row):
                names = _signal_names(row, head)
                long_form = _long_form(names)
            elif len(row) == len(names):
                held.append(row)
            else:
                # A cut line may end in half a number; a row with a cell too few is read up to it.
                ragged += 1
                table.add(_values(names, row[: min(len(row) - 1, len(names))]))
        table.add_rows(names, held)
    if table.rows == 0 or not table.places:
        raise UnreadableFile(f"{head.file}: a table with a header and no numbers")
    if ragged:
        notes.append(f"{ragged} of {table.rows} rows have more or fewer cells than the header")
    found = table.reading(head.file)
    return Log(
        head.file,
        FORMAT,
        found.series,
        started=found.started,
        last_written=found.last_written or head.changed,
        total_steps=found.total_steps,
        notes=(*found.notes, *notes),
    )


def _rows(lines: Iterator[str] | list[str]) -> Iterator[list[str]]:
    """The cells of each line that is not blank or a comment; the header decides the separator."""
    separator: str | None = ""
    for line in lines:
        text = line.replace("\0", "").rstrip("\r\n")
        if separator == "":
            text = text.lstrip("# \t")  # NumPy and others write the header as a comment
        if not text.strip() or text.startswith("#"):
            continue
        if separator == "":
            most = max(SEPARATORS, key=text.count)
            separator = most if most in text else None  # None: any blanks
        yield _cells(text, separator)


def _cells(text: str, separator: str | None) -> list[str]:
    if '"' not in text or separator is None:
        return text.split(separator)
    try:
        return next(csv.reader([text], delimiter=separator), [])
    except csv.Error:  # a cell beyond the csv module's limit, or a stray quote
        return text.split(separator)


def _is_value(cell: str) -> bool:
    return number(cell) is not None and not cell.strip().lower().startswith(("nan", "inf"))


def _is_header(row: list[str]) -> bool:
    """Whether a row in the middle is a header again: a logger that was started anew writes another."""
    if _is_value(row[0]) or _is_value(row[-1]):
        return False
    filled = [cell for cell in row if cell.strip()]
    return len(filled) > 1 and not any(_is_value(cell) for cell in filled) and sum(map(known, filled)) > 1


def _signal_names(row: list[str], head: Head) -> list[str]:
    columns: dict[str, None] = {}
    for cell in row:
        name = cell.strip()
        columns[name if name not in columns else f"{name} (column {len(columns) + 1})"] = None
    names = [*columns]
    tag = _TAG.search(head.path.name)
    if tag and [name.lower() for name in names] == ["wall time", "step", "value"]:
        return [*names[:2], tag["tag"].replace("_", "/", 1)]
    return names


def _long_form(names: list[str]) -> tuple[int, int] | None:
    """Where the name and the value stand in a table of one value per row; None for any other table."""
    lowered = [name.lower() for name in names]
    tag = next((lowered.index(name) for name in TAG_KEYS if name in lowered), None)
    return (tag, lowered.index("value")) if tag is not None and "value" in lowered else None


def _long_values(names: list[str], cells: list[str], tag: int, value: int) -> Iterator[tuple[str, float]]:
    named = [*names]
    named[value] = cells[tag].strip()
    yield from ((name, number_) for name, number_ in _values(named, cells) if name != names[tag])


def _values(names: list[str], cells: list[str]) -> Iterator[tuple[str, float]]:
    for name, cell in zip(names, cells, strict=False):
        if cell and name:
            value = number(cell)
            if value is not None:
                yield name, value
