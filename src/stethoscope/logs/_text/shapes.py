"""Reads a text log by the shapes of its lines.

A log prints the same few kinds of line over and over; only the digits differ. Lines that are equal but for
their digits have one shape: a grammar is asked once for each shape where its numbers stand, and the numbers
of all lines of the shape are decoded together (`line_rows`). Lines whose numbers differ in width are
read by their skeletons (`skeletons`), and what is left one by one (`singles`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from stethoscope.logs._text.chunk import Decoded, Lines, Offsets, Shape, shape_of
from stethoscope.logs._text.grammar import LONGEST_RECORD, Grammar
from stethoscope.logs._text.line_rows import Pattern, decode_rows, pattern_of
from stethoscope.logs._text.singles import Singles
from stethoscope.logs._text.skeletons import MANY, Models

FEWEST_ROWS = 24  # lines of one length, from which on it pays to lay them out as rows
MOST_TRIED = 12  # shapes of one length that are compared with all its rows
LONGEST_ROW = 4_096  # bytes
REST = 16  # chunks
MANY_PIECES = 100  # columns of a chunk; with many small ones, models are faster than shapes
SMALL_PIECE = 400  # values
FITS_FEW = 8  # a shape of less than this part of the rows fits few; after some such, the rest is left over
MOST_UNFIT = 4
MOST_REMEMBERED = 32 << 20  # bytes of lines whose shapes are remembered
_FOLD = bytes.maketrans(b"0123456789", b"0" * 10)


@dataclass(slots=True)
class Shapes:
    """The shapes of line met so far in a log."""

    grammar: Grammar
    wanted: Callable[[str], bool]
    by_length: dict[int, list[Pattern]] = field(default_factory=dict)
    by_fold: dict[bytes, Shape] = field(default_factory=dict)
    models: Models = field(default_factory=Models)
    remembered: int = 0
    rest: int = 0  # chunks for which no shapes are compared, as most lines have none in common

    def decode(self, lines: Lines, found: Decoded) -> None:
        """Read all lines of a chunk."""
        left = self._decode_regular(lines, found)
        if len(left) >= MANY:
            left = self.models.decode(lines, left, self._shape, found)
        self._decode_rare(lines, left, found)

    def _decode_regular(self, lines: Lines, found: Decoded) -> Offsets:
        """Read the lines that have a common length and shape; gives the others."""
        if self.rest:
            self.rest -= 1
            return np.arange(len(lines.starts))
        rare, before = [], len(found.columns)
        for length, at in _by_length(lines):
            if len(at) < FEWEST_ROWS or length > LONGEST_ROW or length == 0:
                rare.append(at)
            else:
                rare.append(self._decode_length(lines, length, at, found))
        left = np.sort(np.concatenate(rare))
        pieces = len(found.columns) - before
        values = sum(len(column.at) for column in found.columns[before:])
        if len(left) > len(lines.starts) // 2 or (pieces > MANY_PIECES and values < pieces * SMALL_PIECE):
            self.rest = REST
        return left

    def _decode_length(self, lines: Lines, length: int, at: Offsets, found: Decoded) -> Offsets:
        """Read lines of one length by the shapes they have; gives those whose shape is rare."""
        rows = lines.rows(at, length)
        patterns = self.by_length.get(length, [])
        useful: list[Pattern] = []
        useless: list[Pattern] = []
        unfit = 0
        known = len(patterns)
        for tried in range(MOST_TRIED):
            if tried == len(patterns):
                typical = len(at) // 2  # the first lines of a log are often of other widths
                shape = self._shape(lines.bytes(int(at[typical])))
                patterns.append(pattern_of(shape, rows[typical], length))
            pattern = patterns[tried]
            same = pattern.matches(rows)
            hits = int(np.count_nonzero(same))
            unfit += tried >= known and hits * FITS_FEW < len(at)
            (useful if hits else useless).append(pattern)
            if hits == len(at):
                decode_rows(rows, at, pattern.shape, found)
                at = at[:0]
            elif hits:
                decode_rows(rows[same], at[same], pattern.shape, found)
                at, rows = at[~same], rows[~same]
            spent = tried >= len(patterns) - 1 and (len(at) < FEWEST_ROWS or unfit >= MOST_UNFIT)
            if spent or not len(at):
                break
        self._remember(length, useful, [*useless, *patterns[tried + 1 :]])
        return at

    def _remember(self, length: int, useful: list[Pattern], others: list[Pattern]) -> None:
        """Keep the patterns of a length, those that just fitted first, with room for another."""
        if length not in self.by_length:
            self.remembered += 64 * length
        self.by_length[length] = [*useful, *others][: MOST_TRIED - 1]
        self._forget_if_many()

    def _decode_rare(self, lines: Lines, at: Offsets, found: Decoded) -> None:
        """Read lines of which there are few, one by one."""
        single = Singles()
        for line in at.tolist():
            raw = lines.bytes(line)[:LONGEST_RECORD]
            shape = self._known_shape(raw)
            if shape.line is not None:
                single.add(line, shape.line, raw)
            elif shape.wanted:
                single.others.append(line)
        single.close(found)

    def _known_shape(self, raw: bytes) -> Shape:
        fold = raw.translate(_FOLD)
        shape = self.by_fold.get(fold)
        if shape is None:
            self.remembered += len(fold) + 500
            self._forget_if_many()
            shape = self.by_fold[fold] = self._shape(raw)
        if shape.name_digits and raw.decode("latin-1") != shape.text:
            return self._shape(raw)  # the digits in its names may be others
        return shape

    def _forget_if_many(self) -> None:
        """Keep the memory bounded where every line has a shape of its own."""
        if self.remembered > MOST_REMEMBERED:
            self.by_fold.clear()
            self.by_length.clear()
            self.remembered = 0

    def _shape(self, raw: bytes) -> Shape:
        return shape_of(raw, self.grammar, self.wanted)


def _by_length(lines: Lines) -> Iterator[tuple[int, Offsets]]:
    """The lines in groups of equal length, each in the order of the file."""
    lengths = lines.ends - lines.starts
    short = np.minimum(lengths, 2**16 - 1).astype(np.uint16)  # 16 bits are sorted by counting
    order = np.argsort(short, kind="stable")
    bounds = np.flatnonzero(np.diff(short[order])) + 1
    for at in np.split(order, bounds):
        yield int(lengths[at[0]]), at
