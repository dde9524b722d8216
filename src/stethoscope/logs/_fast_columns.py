"""Columns of a plain block of separated values, read by polars where it is installed (the `[fast]` extra)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

FILLED = None  # in place of a mask: every row of a column has a value
SMALLEST = 1 << 16  # bytes; below, starting the parser costs more than it saves
IN_CACHE = 1 << 17  # bytes looked through at once

Column = tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_] | None]


@dataclass(frozen=True, slots=True)
class Columns:
    """As many rows of every column: the values there are, and a mask of the rows that have them."""

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
    if frame.height != block.count(b"\n"):
        return None
    if any(empty) and sum(empty) != _empty_cells(block, separator):
        return None  # what polars could not read counts as empty: this needs a closer look
    columns = zip(frame.get_columns(), empty, strict=True)
    return Columns(frame.height, tuple(_column(column, missing) for column, missing in columns))


def _column(column: Any, missing: int) -> Column:
    if not missing:
        return column.to_numpy(), FILLED
    return column.drop_nulls().to_numpy(), column.is_not_null().to_numpy()


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
