"""Columns of a plain block of a table or of JSON lines, read by polars where it is installed.

polars comes with the `[fast]` extra. It is asked only for what it is sure to read as we do: a block in which
every cell is a number or empty, or in which every line has the same names and a number under each. What it
gives is checked by counting separators; whatever is odd is left to the reader that asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt

FILLED = None  # in place of the rows: every row of a column has a value
SMALLEST = 1 << 16  # bytes; below, starting the parser costs more than it saves
IN_CACHE = 1 << 17  # bytes looked through at once
FAR_APART = 1 << 10  # bytes between two of a character, so that leaping to the next is quicker than looking

Rows = npt.NDArray[np.int64]
Column = tuple[npt.NDArray[np.float64], Rows | None]


@dataclass(frozen=True, slots=True)
class Columns:
    """As many rows of every column: the values there are, and the rows that have them."""

    rows: int
    columns: tuple[Column, ...]


def fast_columns(block: bytes, separator: str, width: int) -> Columns | None:
    """The columns of a block; None where polars is missing or a cell is neither a number nor empty."""
    if len(block) < SMALLEST or b'"' in block or not block.endswith(b"\n"):
        return None
    polars = _polars()
    if polars is None:
        return None
    try:
        frame = polars.read_csv(
            block,
            has_header=False,
            separator=separator,
            quote_char=None,
            schema={f"column_{at}": polars.Float64 for at in range(width)},
            ignore_errors=True,
        )
    except polars.exceptions.PolarsError:
        return None
    empty = frame.null_count().row(0)
    lines, empty_cells = _lines_and_empty_cells(block, separator) if any(empty) else (_count(block, b"\n"), 0)
    if frame.height != lines or sum(empty) != empty_cells:
        return None  # what polars could not read counts as empty: this needs a closer look
    return Columns(frame.height, tuple(_columns(polars, frame, empty)))


def _columns(polars: Any, frame: Any, empty: tuple[int, ...]) -> Iterator[Column]:
    holed = _without_nulls(polars, [frame.to_series(at) for at, missing in enumerate(empty) if missing])
    for at, missing in enumerate(empty):
        yield next(holed) if missing else (frame.to_series(at).to_numpy(), FILLED)


def _without_nulls(polars: Any, columns: list[Any]) -> Iterator[Column]:
    """What is not null of each column; joined into one they are gone through quicker than one by one."""
    if not columns:
        return
    joined = polars.concat(columns, rechunk=False)
    values = joined.drop_nulls().to_numpy()
    filled = np.flatnonzero(joined.is_not_null().to_numpy())
    end = 0
    for at, column in enumerate(columns):
        begin, end = end, end + len(column) - column.null_count()
        yield values[begin:end], filled[begin:end] - at * len(column)


def fast_records(
    block: bytes, names: tuple[str, ...], with_nan: bool = False
) -> npt.NDArray[np.float64] | None:
    """The numbers of a block of JSON lines, a row for each name; None where a line has any other.

    NaN is no JSON: where it is to be expected, it goes to polars as null, and a null that was logged is then
    one too many.
    """
    polars = _polars()
    if polars is None or len(block) < SMALLEST:
        return None
    plain, holes = _with_nulls(block) if with_nan else (block, 0)
    try:
        frame = polars.read_ndjson(plain, schema=dict.fromkeys(names, polars.Float64))
    except polars.exceptions.PolarsError:
        return None
    rows = _count(block, b"\n")
    # Every line has all of the names, and as many commas as lie between them: so it has no others.
    if frame.height != rows or sum(frame.null_count().row(0)) != holes:
        return None
    if _count(block, b",") != rows * (len(names) - 1):
        return None
    values: npt.NDArray[np.float64] = frame.to_numpy().T
    return values


def _with_nulls(block: bytes) -> tuple[BytesIO, int]:
    """The block with " NaN" replaced by "null", which is as long, and how often."""
    replaced = BytesIO(block)
    last = _places(block, b"N")
    with replaced.getbuffer() as view:
        buffer = np.frombuffer(view, np.uint8)
        last = last[last >= len(_NULL) - 1]
        for back, character in enumerate(b"NaN "):  # read backwards
            last = last[buffer[last - back] == character]
        for at, character in enumerate(_NULL):
            buffer[last - len(_NULL) + 1 + at] = character
        del buffer
    return replaced, len(last)


_NULL = b"null"


def _places(block: bytes, character: bytes) -> Rows:
    """Where a character stands: by leaps from one to the next, or byte for byte where they stand close."""
    found: list[int] = []
    most = len(block) // FAR_APART
    at = block.find(character)
    while at >= 0 and len(found) < most:
        found.append(at)
        at = block.find(character, at + 1)
    if at < 0:
        return np.array(found, np.int64)
    parts = _parts(np.frombuffer(block, np.uint8))
    return np.concatenate([np.flatnonzero(part == character[0]) + begin for begin, part in parts])


def _count(block: bytes, character: bytes) -> int:
    parts = _parts(np.frombuffer(block, np.uint8))
    return sum(int(np.count_nonzero(part == character[0])) for _, part in parts)


def _lines_and_empty_cells(block: bytes, separator: str) -> tuple[int, int]:
    """How many lines a block has, and how many cells with nothing in them: two marks beside each other."""
    lines = empty = 0
    mark_before = True  # the block begins like a line
    for _, part in _parts(np.frombuffer(block, np.uint8)):
        marks = part == ord("\n")
        lines += int(np.count_nonzero(marks))
        marks |= part == ord(separator)
        empty += int(np.count_nonzero(marks[1:] & marks[:-1])) + int(mark_before and marks[0])
        mark_before = bool(marks[-1])
    return lines, empty


def _parts(buffer: npt.NDArray[np.uint8]) -> Iterator[tuple[int, npt.NDArray[np.uint8]]]:
    """The bytes in pieces that stay in the cache, each with where it begins."""
    return ((at, buffer[at : at + IN_CACHE]) for at in range(0, len(buffer), IN_CACHE))


@cache
def _polars() -> Any:
    try:
        import polars
    except ImportError:
        return None
    return polars
