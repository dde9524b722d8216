"""Reads a text log by the shapes of its lines.

A log prints the same few kinds of line over and over; only the digits differ. Digits are folded to 0, equal
lines are grouped, a grammar is asked once for each shape where its numbers stand, and the numbers of all
lines of the shape are decoded together. A log whose numbers have random widths has too many such shapes:
there, the digits are left out instead of folded, and the runs of digits are found by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from stethoscope.logs._columns import PADDING, Bytes, Floats, Integers, Offsets, floats, integers
from stethoscope.logs._grammar import LONGEST_RECORD, Grammar, Span, StepLine
from stethoscope.logs._numbers import LAST_STEP

MOST_SHAPES = 100_000  # remembered; a log with more holds something else than steps
DIGITS = b"0123456789"
_FOLD = bytes.maketrans(DIGITS, b"0" * 10)
# Digits that belong to a name: acc5, bbox_mAP_50, acc@1.
_NAME_DIGITS = re.compile(r"(?<=[A-Za-z_@])\d+")


@dataclass(frozen=True, slots=True)
class Shape:
    """What is known of all lines of one shape. Spans are of bytes."""

    line: StepLine | None
    name_digits: tuple[Span, ...]
    text: str
    wanted: bool = False  # of a line that the grammar does not take: whether somebody wants to see it


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a chunk: where each begins and ends in the buffer, and its number in the file."""

    buffer: Bytes
    raw: bytes
    starts: Offsets
    ends: Offsets
    numbers: Offsets

    def text(self, at: int) -> str:
        """One line as text."""
        return self.raw[self.starts[at] : self.ends[at]].decode("utf-8", errors="replace")


@dataclass(frozen=True, slots=True)
class Column:
    """Values of one name, on which lines of the chunk; `steps` only where the axis is no step."""

    name: str
    axis: str
    at: Offsets
    steps: Integers | None
    values: Floats


@dataclass(frozen=True, slots=True)
class Stepped:
    """Lines that have a step of their own; `laps` is where each counter begins again, 0 for never."""

    at: Offsets
    steps: Integers
    laps: Integers


@dataclass(slots=True)
class Decoded:
    """What the lines of a chunk hold, and the indices of the other lines that somebody wants to see."""

    columns: list[Column] = field(default_factory=list)
    stepped: list[Stepped] = field(default_factory=list)
    total: int | None = None
    others: list[Offsets] = field(default_factory=list)


@dataclass(slots=True)
class Shapes:
    """The shapes of line met so far in a log."""

    grammar: Grammar
    wanted: Callable[[str], bool]
    known: dict[bytes, int] = field(default_factory=dict)
    shapes: list[Shape] = field(default_factory=list)

    def decode(self, lines: Lines, folded: list[bytes], found: Decoded) -> None:
        """Read all lines; `folded` are the lines with their digits folded."""
        if len(self.known) > MOST_SHAPES:
            self.known.clear()
            self.shapes.clear()
        ids = self._ids(lines, folded)
        order = np.argsort(ids, kind="stable")
        bounds = np.flatnonzero(np.diff(ids[order])) + 1
        for at in np.split(order, bounds) if len(order) else ():
            shape = self.shapes[int(ids[at[0]])]
            if shape.line is not None:
                self._decode_shape(lines, at, shape, found)
            elif shape.wanted:
                found.others.append(at)

    def _ids(self, lines: Lines, folded: list[bytes]) -> npt.NDArray[np.int64]:
        fresh = set(folded).difference(self.known)
        if fresh:
            for at, key in enumerate(folded):
                if key in fresh:
                    fresh.discard(key)
                    self.known[key] = len(self.shapes)
                    self.shapes.append(self._shape(lines, at))
                    if not fresh:
                        break
        return np.fromiter(map(self.known.__getitem__, folded), dtype=np.int64, count=len(folded))

    def _decode_shape(self, lines: Lines, at: Offsets, shape: Shape, found: Decoded) -> None:
        """Decode the lines of one shape, apart where the digits in their names differ."""
        for same in _same_names(lines, at, shape.name_digits):
            own = shape
            if same[0] != at[0] and shape.name_digits:
                own = self._shape(lines, int(same[0]))
            if own.line is not None:
                _decode_columns(lines, same, own.line, own.text, found)
            elif own.wanted:
                found.others.append(same)

    def _shape(self, lines: Lines, at: int) -> Shape:
        raw = lines.raw[lines.starts[at] : lines.ends[at]]
        return shape_of(raw, self.grammar, self.wanted)


def shape_of(raw: bytes, grammar: Grammar, wanted: Callable[[str], bool]) -> Shape:
    """Ask the grammar about one line, and turn its places into spans of bytes."""
    text = raw[:LONGEST_RECORD].decode("utf-8", errors="surrogateescape")
    line = grammar(text)
    if line is None:
        return Shape(None, (), text, wanted(text))
    taken = [span for span in (line.step, line.total, line.epoch, line.epoch_length) if span]
    taken += [(start, end) for _, start, end in line.values]
    names = [found.span() for found in _NAME_DIGITS.finditer(text)]
    names = [span for span in (*names, *line.fixed) if not any(_overlap(span, other) for other in taken)]
    if not text.isascii():
        line, names = _in_bytes(text, line, names)
        text = raw[:LONGEST_RECORD].decode("latin-1")
    return Shape(line, tuple(names), text)


def _overlap(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _in_bytes(text: str, line: StepLine, names: list[Span]) -> tuple[StepLine, list[Span]]:
    """The same places counted in bytes of UTF-8."""
    widths = [len(one.encode("utf-8", errors="surrogateescape")) for one in text]
    offsets = [0, *np.cumsum(widths).tolist()]

    def moved(span: Span) -> Span:
        return offsets[span[0]], offsets[span[1]]

    def moved_or_none(span: Span | None) -> Span | None:
        return None if span is None else moved(span)

    values = tuple((name, *moved((start, end))) for name, start, end in line.values)
    placed = StepLine(
        values,
        moved_or_none(line.step),
        moved_or_none(line.total),
        moved_or_none(line.epoch),
        moved_or_none(line.epoch_length),
        line.first_epoch,
        line.laps,
        line.axis,
    )
    return placed, [moved(span) for span in names]


def _same_names(lines: Lines, at: Offsets, digits: tuple[Span, ...]) -> Iterator[Offsets]:
    """The lines of a shape, apart where the digits inside their names differ."""
    if not digits or len(at) == 1:
        yield at
        return
    places = np.concatenate([np.arange(start, end) for start, end in digits])
    held = lines.buffer[lines.starts[at][:, None] + places]
    if (held == held[0]).all():
        yield at
        return
    keys = np.ascontiguousarray(held).view(f"S{held.shape[1]}").ravel()
    _, kinds = np.unique(keys, return_inverse=True)
    for kind in range(int(kinds.max()) + 1):
        yield at[kinds == kind]


def _decode_columns(lines: Lines, at: Offsets, line: StepLine, text: str, found: Decoded) -> None:
    starts = lines.starts[at]

    def counted(span: Span | None) -> Integers | None:
        return None if span is None else integers(lines.buffer, starts + span[0], text[slice(*span)])

    steps, total = counted(line.step), counted(line.total)
    if line.step is not None:
        if steps is None:
            return  # a step of more digits than any counter has
        steps = _over_epochs(steps, counted(line.epoch), counted(line.epoch_length), line.first_epoch)
        good = np.abs(steps) <= LAST_STEP
        if not good.all():
            return
        if line.axis == "step":
            laps = total if line.laps and total is not None else np.zeros_like(steps)
            found.stepped.append(Stepped(at, steps, laps))
    if total is not None and not line.laps:
        found.total = int(total[-1])
    for name, start, end in line.values:
        values = floats(lines.buffer, starts + start, text[start:end])
        if values is not None:
            own = steps if line.axis != "step" else None
            found.columns.append(Column(name, line.axis, at, own, values))


def _over_epochs(
    steps: Integers, epoch: Integers | None, length: Integers | None, first_epoch: int
) -> Integers:
    """Steps within an epoch, counted on over the epochs."""
    if epoch is None or length is None:
        return steps
    whole: Integers = np.clip(epoch - first_epoch, 0, 2**31) * np.clip(length, 0, 2**30) + steps
    return whole


def folded_lines(data: bytes, longest: int) -> list[bytes]:
    """The lines of some bytes with their digits folded, cut to what a grammar is shown."""
    lines = data.translate(_FOLD).split(b"\n")
    return [line[:LONGEST_RECORD] for line in lines] if longest > LONGEST_RECORD else lines


def lines_of(data: bytes, first_number: int) -> Lines:
    """Find the lines of some bytes; they must begin with padding and end without a line break."""
    buffer = np.frombuffer(data, dtype=np.uint8)
    breaks = np.flatnonzero(buffer == 10)
    starts = np.concatenate([[PADDING], breaks + 1])
    ends = np.concatenate([breaks, [len(data)]])
    return Lines(buffer, data, starts, ends, np.arange(first_number, first_number + len(starts)))
