"""Reads lines whose numbers differ in width, such as printed at full precision.

A line without its digits is its skeleton. Lines of one skeleton hold their numbers between the same
characters, only further left or right; where the runs of digits of each line stand is found for a whole
chunk at once, and lines whose runs lie equally far apart from each other as those of one of them are read
with the places that the grammar gives for that one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stethoscope.logs._chunk import Decoded, Lines, Offsets, Shape, note_lines
from stethoscope.logs._columns import Floats, Integers
from stethoscope.logs._digits import decimals
from stethoscope.logs._grammar import Span
from stethoscope.logs._numbers import LAST_STEP, number

DIGITS = b"0123456789"
FEWEST = 8  # lines of one skeleton, from which on they are read together
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Runs:
    """Where the runs of digits of a chunk begin and end."""

    starts: Offsets
    ends: Offsets


def runs_of(lines: Lines) -> Runs:
    """All runs of digits; the buffer neither begins nor ends with one."""
    digit = (lines.buffer - np.uint8(48)) < 10
    turns = np.flatnonzero(digit[1:] != digit[:-1]) + 1
    return Runs(turns[::2], turns[1::2])


def decode_loose(lines: Lines, at: Offsets, shape_of: Callable[[bytes], Shape], found: Decoded) -> Offsets:
    """Read lines by their skeletons; gives those that have too few of their kind, or are not quite of it."""
    runs = runs_of(lines)
    first = np.searchsorted(runs.starts, lines.starts[at])
    count = np.searchsorted(runs.starts, lines.ends[at]) - first
    left = []
    for members in _by_skeleton(lines, at, count):
        if len(members) < FEWEST:
            left.append(at[members])
            continue
        model = int(at[members[0]])
        shape = shape_of(lines.bytes(model))
        if shape.line is None:
            if shape.wanted:
                found.others.append(at[members])
            continue
        kin = _Kin(lines, runs, at[members], first[members], int(count[members[0]]))
        left.append(kin.decode(shape, found))
    return np.concatenate(left) if left else at[:0]


def _by_skeleton(lines: Lines, at: Offsets, count: Offsets) -> Iterator[Offsets]:
    """The lines in groups of one skeleton and one number of runs, as indices into `at`."""
    groups: dict[tuple[bytes, int], list[int]] = {}
    raw = lines.raw
    places = zip(lines.starts[at].tolist(), lines.ends[at].tolist(), count.tolist(), strict=True)
    for index, (start, end, runs) in enumerate(places):
        groups.setdefault((raw[start:end].translate(None, DIGITS), runs), []).append(index)
    for members in groups.values():
        yield np.array(members, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _Kin:
    """Lines of one skeleton, their first runs, and how many runs each has; the first line is the model."""

    lines: Lines
    runs: Runs
    at: Offsets
    first: Offsets
    count: int

    def decode(self, shape: Shape, found: Decoded) -> Offsets:
        """Read the lines whose runs stand as the model's do, between the same characters."""
        alike = self._like_the_model(shape)
        _Kin(self.lines, self.runs, self.at[alike], self.first[alike], self.count)._note(shape, found)
        return self.at[~alike]

    def _note(self, shape: Shape, found: Decoded) -> None:
        def measured(span: Span) -> Floats | None:
            return self._values(span, shape.text)

        def counted(span: Span | None) -> Integers | None:
            values = None if span is None else self._values(span, shape.text)
            if values is None or not (np.abs(values) < LAST_STEP).all():
                return None
            whole: Integers = values.astype(np.int64)
            return whole

        assert shape.line is not None
        note_lines(self.at, shape.line, counted, measured, found)

    def _like_the_model(self, shape: Shape) -> Mask:
        """Equal characters in equal gaps, and equal digits where they belong to a name."""
        each = self.first[:, None] + np.arange(self.count)
        starts, ends = self.runs.starts[each], self.runs.ends[each]
        before = np.concatenate([self.lines.starts[self.at][:, None], ends[:, :-1]], axis=1)
        gaps = starts - before[:, : self.count]
        alike: Mask = (gaps == gaps[0]).all(axis=1)
        for span in shape.name_digits:
            text = shape.text[slice(*span)].encode("latin-1")
            began, ended = self._token(span)
            alike &= (ended - began) == len(text)
            for offset, byte in enumerate(text):
                alike &= self.lines.buffer[np.minimum(began + offset, len(self.lines.buffer) - 1)] == byte
        return alike

    def _token(self, span: Span) -> tuple[Offsets, Offsets]:
        """Where a span of the model begins and ends in each line."""
        origin = self.lines.starts[self.at[0]]
        mine = slice(int(self.first[0]), int(self.first[0]) + self.count)
        starts, ends = self.runs.starts[mine] - origin, self.runs.ends[mine] - origin
        inside = np.flatnonzero((starts < span[1]) & (ends > span[0]))
        low, high = int(inside[0]), int(inside[-1])
        return (
            self.runs.starts[self.first + low] + (span[0] - int(starts[low])),
            self.runs.ends[self.first + high] + (span[1] - int(ends[high])),
        )

    def _values(self, span: Span, text: str) -> Floats | None:
        token = text[slice(*span)]
        if not any(one.isdigit() for one in token):
            constant = number(token)
            return None if constant is None else np.full(len(self.at), constant)
        values, good = decimals(self.lines.buffer, *self._token(span))
        return values if good.all() else None
