"""Reads lines whose numbers differ in width, such as printed at full precision.

A line without its digits is its skeleton. Lines of one skeleton hold their numbers between the same
characters, only further left or right: where the runs of digits stand is found for a whole chunk at once,
and lines that have the same characters between their runs as a model are read with the model's places.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from stethoscope.logs._reading.digits import decimals
from stethoscope.logs._reading.numbers import LAST_STEP, number
from stethoscope.logs._text.chunk import Decoded, Lines, Offsets, Shape, note_lines
from stethoscope.logs._text.columns import Floats, Integers
from stethoscope.logs._text.grammar import Span

Mask = npt.NDArray[np.bool_]

MANY = 64  # lines, from which on it pays to look for a model among them
MOST_MODELS = 24  # remembered
MOST_NEW = 8  # of one chunk
LONGEST_MODEL = 4_096  # bytes


@dataclass(frozen=True, slots=True)
class Model:
    """A line by which others are read: the characters before, between and behind its runs of digits."""

    shape: Shape
    gaps: tuple[bytes, ...]
    runs: tuple[Span, ...]

    def token(self, span: Span) -> tuple[int, int, int, int] | None:
        """A span in terms of the model's runs: the first and the last inside, and what it has beyond them."""
        inside = [at for at, run in enumerate(self.runs) if run[0] < span[1] and run[1] > span[0]]
        if not inside:
            return None
        low, high = inside[0], inside[-1]
        return low, span[0] - self.runs[low][0], high, span[1] - self.runs[high][1]


@dataclass(slots=True)
class Models:
    """The models met so far in a log, those that fitted last first."""

    known: list[Model] = field(default_factory=list)

    def decode(
        self, lines: Lines, at: Offsets, shape_of: Callable[[bytes], Shape], found: Decoded
    ) -> Offsets:
        """Read lines by their models; gives those that fit none."""
        kin = _kin_of(lines, at)
        useful: list[Model] = []
        for model in self.known:
            if len(kin.at) == 0:
                break
            kin = self._take(kin, model, useful, found)
        for _ in range(MOST_NEW):
            if len(kin.at) < MANY:
                break
            fresh = _model_of(kin, shape_of)
            if fresh is None:
                break
            kin = self._take(kin, fresh, useful, found)
        others = [model for model in self.known if not any(model is one for one in useful)]
        self.known = [*useful, *others][:MOST_MODELS]
        return kin.at

    def _take(self, kin: _Kin, model: Model, useful: list[Model], found: Decoded) -> _Kin:
        alike = kin.like(model)
        if not alike.any():
            return kin
        useful.append(model)
        kin.select(alike).note(model, found)
        return kin.select(~alike)


@dataclass(frozen=True, slots=True)
class _Kin:
    """Lines of a chunk, the first run of digits of each, and how many it has."""

    lines: Lines
    starts: Offsets  # of all runs of the chunk
    ends: Offsets
    at: Offsets
    first: Offsets
    count: Offsets

    def select(self, keep: Mask | slice) -> _Kin:
        """Some of the lines."""
        return _Kin(self.lines, self.starts, self.ends, self.at[keep], self.first[keep], self.count[keep])

    def like(self, model: Model) -> Mask:
        """Which lines have the model's characters between their runs."""
        alike: Mask = self.count == len(model.runs)
        some = np.flatnonzero(alike)
        for nth, gap in enumerate(model.gaps):
            if len(some) == 0:
                break
            at, first = self.at[some], self.first[some]
            begins = self.lines.starts[at] if nth == 0 else self.ends[first + nth - 1]
            ends = self.starts[first + nth] if nth < len(model.runs) else self.lines.ends[at]
            same = ends - begins == len(gap)
            same &= _holds(self.lines, begins, gap)
            some = some[same]
        alike[:] = False
        alike[some] = True
        for span in model.shape.name_digits:
            alike &= self._holds_name(model, span)
        return alike

    def _holds_name(self, model: Model, span: Span) -> Mask:
        token = model.token(span)
        assert token is not None  # they are digits
        begins, ends = self._token(token)
        text = model.shape.text[slice(*span)].encode("latin-1")
        held: Mask = (ends - begins == len(text)) & _holds(self.lines, begins, text)
        return held

    def _token(self, token: tuple[int, int, int, int]) -> tuple[Offsets, Offsets]:
        low, lead, high, trail = token
        most = len(self.starts) - 1
        first = np.minimum(self.first + low, most)
        return self.starts[first] + lead, self.ends[np.minimum(self.first + high, most)] + trail

    def note(self, model: Model, found: Decoded) -> None:
        """Add what these lines hold; all of them are like the model."""
        line = model.shape.line
        if line is None:
            if model.shape.wanted:
                found.others.append(self.at)
            return

        def measured(span: Span) -> Floats | None:
            token = model.token(span)
            if token is None:
                constant = number(model.shape.text[slice(*span)])  # nan, inf
                return None if constant is None else np.full(len(self.at), constant)
            values, good = decimals(self.lines.buffer, *self._token(token))
            return values if good.all() else None

        def counted(span: Span | None) -> Integers | None:
            values = None if span is None else measured(span)
            if values is None or not (np.abs(values) < LAST_STEP).all():
                return None
            whole: Integers = values.astype(np.int64)
            return whole

        note_lines(self.at, line, counted, measured, found)


def _kin_of(lines: Lines, at: Offsets) -> _Kin:
    # The buffer neither begins nor ends with a digit.
    digit = (lines.buffer - np.uint8(48)) < 10
    turns = np.flatnonzero(digit[1:] != digit[:-1]) + 1
    starts, ends = turns[::2], turns[1::2]
    first = np.searchsorted(starts, lines.starts[at])
    return _Kin(lines, starts, ends, at, first, np.searchsorted(starts, lines.ends[at]) - first)


def _model_of(kin: _Kin, shape_of: Callable[[bytes], Shape]) -> Model | None:
    """A typical line as a model; None where it is longer than any that is read."""
    typical = len(kin.at) // 2
    raw = kin.lines.bytes(int(kin.at[typical]))
    if len(raw) > LONGEST_MODEL:
        return None
    origin, first = int(kin.lines.starts[kin.at[typical]]), int(kin.first[typical])
    mine = slice(first, first + int(kin.count[typical]))
    starts, ends = (kin.starts[mine] - origin).tolist(), (kin.ends[mine] - origin).tolist()
    gaps = [raw[begin:end] for begin, end in zip([0, *ends], [*starts, len(raw)], strict=True)]
    return Model(shape_of(raw), tuple(gaps), tuple(zip(starts, ends, strict=True)))


def _holds(lines: Lines, begins: Offsets, text: bytes) -> Mask:
    """Where these bytes stand, eight compared at a time."""
    windows = np.ndarray((len(lines.buffer) - 7,), dtype="<u8", buffer=lines.buffer, strides=(1,))
    same: Mask = np.ones(len(begins), dtype=np.bool_)
    for offset in range(0, len(text), 8):
        part = text[offset : offset + 8]
        mask = np.uint64(2 ** (8 * len(part)) - 1)
        words = windows[np.minimum(begins + offset, len(windows) - 1)]
        same &= (words & mask) == np.uint64(int.from_bytes(part, "little"))
    return same
