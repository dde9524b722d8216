"""The lines of a piece of a text log, the shapes they have, and what is decoded from them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from stethoscope.logs._reading.numbers import LAST_STEP
from stethoscope.logs._text.columns import PADDING, Floats, Integers, Rows
from stethoscope.logs._text.grammar import LONGEST_RECORD, Grammar, Span, StepLine

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]

ROOM = 16  # bytes behind the last line, so that it can be laid out in whole words, too
# Digits that belong to a name: acc5, bbox_mAP_50, acc@1.
_NAME_DIGITS = re.compile(r"(?<=[A-Za-z_@])\d+")


# --- lines ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a chunk: where each begins and ends in the buffer, and its number in the file.

    The buffer begins with PADDING bytes and ends with ROOM bytes that belong to no line.
    """

    raw: bytes
    buffer: Bytes
    starts: Offsets
    ends: Offsets
    numbers: Offsets

    def bytes(self, at: int) -> bytes:
        """One line as it stands."""
        return self.raw[self.starts[at] : self.ends[at]]

    def text(self, at: int) -> str:
        """One line as text."""
        return self.bytes(at).decode("utf-8", errors="replace")

    def rows(self, at: Offsets, length: int) -> Rows:
        """Lines of this length one below the other, padded in front and to whole words behind."""
        width = PADDING + -(-length // 8) * 8
        places = len(self.buffer) - width + 1
        windows = np.ndarray((places,), dtype=f"V{width}", buffer=self.buffer, strides=(1,))
        rows: Rows = windows[self.starts[at] - PADDING].view(np.uint8).reshape(len(at), width)
        return rows


def lines_of(text: bytes | memoryview, first_number: int) -> Lines:
    """Find the lines of some bytes that do not end in a line break."""
    raw = b"".join((b" " * PADDING, text, b" " * ROOM))
    buffer = np.frombuffer(raw, dtype=np.uint8)
    breaks = np.flatnonzero(buffer == 10)
    starts = np.concatenate([[PADDING], breaks + 1])
    ends = np.concatenate([breaks, [PADDING + len(text)]])
    return Lines(raw, buffer, starts, ends, np.arange(first_number, first_number + len(starts)))


# --- shapes -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shape:
    """What is known of all lines of one shape. Spans are of bytes, and so is `text`, one to a character."""

    line: StepLine | None
    name_digits: tuple[Span, ...]
    text: str
    wanted: bool  # of a line that the grammar does not take: whether somebody wants to see it


def shape_of(raw: bytes, grammar: Grammar, wanted: Callable[[str], bool]) -> Shape:
    """Ask the grammar about one line, and turn its places into spans of bytes."""
    shown = raw[:LONGEST_RECORD]
    text = shown.decode("utf-8", errors="surrogateescape")
    line = grammar(text)
    if line is None:
        return Shape(None, (), "", wanted(text))
    taken = [span for span in (line.step, line.total, line.epoch, line.epoch_length) if span]
    taken += [(start, end) for _, start, end in line.values]
    names = [found.span() for found in _NAME_DIGITS.finditer(text)]
    names = [span for span in (*names, *line.fixed) if not any(_overlap(span, other) for other in taken)]
    if not text.isascii():
        line, names = _in_bytes(text, line, names)
    return Shape(line, tuple(names), shown.decode("latin-1"), wanted=False)


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

    placed = replace(
        line,
        values=tuple((_readable(name), *moved((start, end))) for name, start, end in line.values),
        step=moved_or_none(line.step),
        total=moved_or_none(line.total),
        epoch=moved_or_none(line.epoch),
        epoch_length=moved_or_none(line.epoch_length),
        fixed=(),
    )
    return placed, [moved(span) for span in names]


def _readable(name: str) -> str:
    return name.encode("utf-8", errors="surrogateescape").decode("utf-8", errors="replace")


# --- what is decoded --------------------------------------------------------------------------------


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


def note_lines(
    at: Offsets,
    line: StepLine,
    counted: Callable[[Span | None], Integers | None],
    measured: Callable[[Span], Floats | None],
    found: Decoded,
) -> None:
    """Add the lines of one shape; `counted` and `measured` decode the numbers at a span of all of them."""
    steps, total = counted(line.step), counted(line.total)
    if line.step is not None:
        if steps is None:
            return  # a step of more digits than any counter has
        steps = _over_epochs(steps, counted(line.epoch), counted(line.epoch_length), line.first_epoch)
        if np.abs(steps).max() > LAST_STEP:
            return
        if line.axis == "step":
            laps = total if line.laps and total is not None else np.zeros_like(steps)
            found.stepped.append(Stepped(at, steps, laps))
    if total is not None and not line.laps:
        found.total = int(total[-1])
    for name, start, end in line.values:
        values = measured((start, end))
        if values is not None:
            found.columns.append(Column(name, line.axis, at, steps if line.axis != "step" else None, values))


def _over_epochs(
    steps: Integers, epoch: Integers | None, length: Integers | None, first_epoch: int
) -> Integers:
    """Steps within an epoch, counted on over the epochs."""
    if epoch is None or length is None:
        return steps
    whole: Integers = np.clip(epoch - first_epoch, 0, 2**31) * np.clip(length, 0, 2**30) + steps
    return whole
