"""Columns of a plain block of a table or of JSON lines, read by polars where it is installed.

polars comes with the `[fast]` extra. It is asked only for what it is sure to read as we do: a block in which
every cell is a number or empty, or in which every line has the same names and a number under each. What it
gives is checked by counting separators; whatever is odd is left to the reader that asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

FILLED = None  # in place of the rows: every row of a column has a value
SMALLEST = 1 << 16  # bytes; below, starting the parser costs more than it saves
IN_CACHE = 1 << 17  # bytes looked through at once

Column = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64] | None]


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
    if frame.height != _count(block, b"\n"):
        return None
    if any(empty) and sum(empty) != _empty_cells(block, separator):
        return None  # what polars could not read counts as empty: this needs a closer look
    return Columns(frame.height, tuple(_columns(frame, empty)))


def _columns(frame: Any, empty: tuple[int, ...]) -> Iterator[Column]:
    grid = frame.to_numpy()
    for at, missing in enumerate(empty):
        values = grid[:, at]
        if not missing:
            yield values, FILLED
            continue
        filled = np.flatnonzero(values == values)  # an empty cell is NaN here
        if len(values) - len(filled) != missing:  # NaN was logged besides
            filled = np.flatnonzero(frame.to_series(at).is_not_null().to_numpy())
        yield values[filled], filled


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


def _with_nulls(block: bytes) -> tuple[bytes, int]:
    """The block with " NaN" replaced by "null", which is as long, and how often."""
    buffer = np.frombuffer(block, np.uint8).copy()
    parts = range(0, len(buffer), IN_CACHE)
    last = np.concatenate([np.flatnonzero(buffer[at : at + IN_CACHE] == ord("N")) + at for at in parts])
    last = last[last >= len(_NULL) - 1]
    for back, character in enumerate(b"NaN "):  # read backwards
        last = last[buffer[last - back] == character]
    for at, character in enumerate(_NULL):
        buffer[last - len(_NULL) + 1 + at] = character
    return buffer.tobytes(), len(last)


_NULL = b"null"


def _count(block: bytes, character: bytes) -> int:
    buffer = np.frombuffer(block, np.uint8)
    parts = range(0, len(buffer), IN_CACHE)
    return sum(int(np.count_nonzero(buffer[at : at + IN_CACHE] == character[0])) for at in parts)


def _empty_cells(block: bytes, separator: str) -> int:
    buffer = np.frombuffer(block, np.uint8)
    empty = int(buffer[0] in (ord(separator), ord("\n")))
    for at in range(0, len(buffer), IN_CACHE):
        part = buffer[at : at + IN_CACHE + 1]
        cuts = part == ord(separator)
        cuts |= part == ord("\n")
        empty += int(np.count_nonzero(cuts[1:] & cuts[:-1]))
    return empty


@cache
def _polars() -> Any:
    try:
        import polars
    except ImportError:
        return None
    return polars
