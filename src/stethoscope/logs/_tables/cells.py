"""The cells of a block of lines, found and turned into numbers in bulk.

Separators are found by comparing bytes, so a block of a million cells costs a few passes over memory. A
cell may be padded, quoted or followed by a percent sign; a line whose quotes hold a separator is read apart.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stethoscope.logs._reading.digits import decimals

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Values = npt.NDArray[np.float64]

WIDEST_PADDING = 40  # blanks around a cell; what has more is trimmed by itself

_FEED, _BLANK, _TAB, _QUOTE, _PERCENT = 10, 32, 9, 34, 37


@dataclass(frozen=True, slots=True)
class Cells:
    """Where the cells of each line begin and end; line k has the cells first[k] to first[k + 1].

    Of the lines in `quoted`, the cells are not known: a quoted one may hold a separator.
    """

    block: bytes
    separator: bytes | None
    buffer: Bytes
    starts: Offsets
    ends: Offsets
    first: Offsets
    line_starts: Offsets
    line_ends: Offsets
    quoted: Mask

    def text(self, line: int) -> str:
        """One line as text."""
        return self.block[self.line_starts[line] : self.line_ends[line]].decode("utf-8", errors="replace")

    def row(self, line: int) -> list[str]:
        """The cells of one line as text."""
        return split(self.text(line), self.separator.decode() if self.separator else None)

    def cell(self, index: int) -> str:
        """One cell as text."""
        return self.block[self.starts[index] : self.ends[index]].decode("utf-8", errors="replace")


def split(text: str, separator: str | None) -> list[str]:
    """The cells of a line; no separator means any blanks."""
    if '"' not in text or separator is None:
        return text.split(separator)
    try:
        return next(csv.reader([text], delimiter=separator), [])
    except csv.Error:  # a cell beyond the csv module's limit, or a stray quote
        return text.split(separator)


def cells_of(block: bytes, separator: bytes | None) -> Cells:
    """The cells of every line of a block."""
    if not block.endswith(b"\n"):
        block += b"\n"
    buffer = np.frombuffer(block, np.uint8)
    if separator is None:
        starts, ends, first, line_ends = _between_blanks(buffer)
    else:
        cuts = np.flatnonzero((buffer == separator[0]) | (buffer == _FEED))
        starts, ends = np.concatenate([[0], cuts[:-1] + 1]), cuts
        last = np.flatnonzero(buffer[cuts] == _FEED)
        first = np.concatenate([[0], last + 1])
        line_ends = cuts[last]
    line_starts = np.concatenate([[0], line_ends[:-1] + 1])
    quoted = np.zeros(len(line_ends), np.bool_)
    if separator is not None:
        if b" " in block or b"\t" in block:
            starts, ends = _trimmed(buffer, starts, ends)
        if b'"' in block:
            starts, ends, quoted = _unquoted(buffer, starts, ends, first, line_ends)
    return Cells(block, separator, buffer, starts, ends, first, line_starts, line_ends, quoted)


def numbers_in(cells: Cells) -> tuple[Values, Mask]:
    """The value of every cell, and whether it holds one; a percentage is the number before its sign."""
    starts, ends = cells.starts, cells.ends
    if b"%" in cells.block:
        ends = ends - ((ends > starts) & (cells.buffer[ends - 1] == _PERCENT))
    filled = ends > starts
    if filled.all():
        return decimals(cells.buffer, starts, ends)
    where = np.flatnonzero(filled)
    values, good = np.full(len(starts), np.nan), np.zeros(len(starts), np.bool_)
    values[where], good[where] = decimals(cells.buffer, starts[where], ends[where])
    return values, good


def _between_blanks(buffer: Bytes) -> tuple[Offsets, Offsets, Offsets, Offsets]:
    feeds = buffer == _FEED
    blank = feeds | (buffer == _BLANK) | (buffer == _TAB)
    before = np.concatenate([[True], blank[:-1]])
    starts, ends = np.flatnonzero(before & ~blank), np.flatnonzero(blank & ~before)
    line_ends = np.flatnonzero(feeds)
    first = np.concatenate([[0], np.searchsorted(starts, line_ends)])
    return starts, ends, first, line_ends


def _trimmed(buffer: Bytes, starts: Offsets, ends: Offsets) -> tuple[Offsets, Offsets]:
    """Cells without the blanks around them."""
    starts, ends = starts.copy(), ends.copy()
    padded = np.flatnonzero(starts < ends)
    for _ in range(WIDEST_PADDING):
        padded = padded[_blank(buffer[starts[padded]]) & (starts[padded] < ends[padded])]
        starts[padded] += 1
    for index in padded.tolist():
        cell = buffer[starts[index] : ends[index]].tobytes()
        starts[index] += len(cell) - len(cell.lstrip(b" \t"))
    padded = np.flatnonzero(starts < ends)
    for _ in range(WIDEST_PADDING):
        padded = padded[_blank(buffer[ends[padded] - 1]) & (starts[padded] < ends[padded])]
        ends[padded] -= 1
    for index in padded.tolist():
        ends[index] = starts[index] + len(buffer[starts[index] : ends[index]].tobytes().rstrip(b" \t"))
    return starts, ends


def _blank(characters: Bytes) -> Mask:
    blank: Mask = (characters == _BLANK) | (characters == _TAB)
    return blank


def _unquoted(
    buffer: Bytes, starts: Offsets, ends: Offsets, first: Offsets, line_ends: Offsets
) -> tuple[Offsets, Offsets, Mask]:
    """Cells without the quotes around them, and the lines that hold quotes of another kind."""
    pairs = (ends - starts >= 2) & (buffer[starts] == _QUOTE) & (buffer[ends - 1] == _QUOTE)
    quotes = np.searchsorted(line_ends, np.flatnonzero(buffer == _QUOTE))
    counted = np.concatenate([[0], np.cumsum(pairs)])
    paired = 2 * (counted[first[1:]] - counted[first[:-1]])
    return starts + pairs, ends - pairs, np.bincount(quotes, minlength=len(line_ends)) != paired
