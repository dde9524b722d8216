"""Lines of one length and one shape, found and decoded without a Python object per line.

Lines of equal length are laid out as rows of 64-bit words and compared word by word with a line of a known
shape: bytes that are digits there may be any digits here, all others must be equal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stethoscope.logs._text.chunk import Bytes, Decoded, Offsets, Shape, note_lines
from stethoscope.logs._text.columns import PADDING, Floats, Integers, Rows, floats, integers
from stethoscope.logs._text.grammar import Span

Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]

BLOCK = 16_384  # words that are compared at once, so that they stay in the processor's cache


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """A line of a shape as words, by which other lines of its length are held against it.

    Where any digit may stand, six is added to a byte before its upper half is compared: 0 to 9 stay below
    the next half, and what follows them does not. All other bytes are compared as they are.
    """

    shape: Shape
    six: Words
    words: Words  # six added
    same: Words  # ones where a bit must be equal

    def matches(self, rows: Rows) -> Mask:
        """Which of the rows have this shape."""
        words = rows.view(np.uint64)[:, PADDING // 8 :]
        at_once = max(BLOCK // words.shape[1], 1)
        blocks = (words[start : start + at_once] for start in range(0, len(words), at_once))
        return np.concatenate([self._matches(block) for block in blocks])

    def _matches(self, words: Words) -> Mask:
        differs = words + self.six
        differs ^= self.words
        differs &= self.same
        equal: Mask = np.bitwise_or.reduce(differs, axis=1) == 0
        return equal


def pattern_of(shape: Shape, row: Bytes, length: int) -> Pattern:
    """The pattern of a row, which has this shape; digits in the names of its values must be equal, too."""
    held = row[PADDING:].copy()
    inside = np.arange(len(held)) < length
    digit = (held >= 48) & (held <= 57) & inside
    for start, end in shape.name_digits:
        digit[start:end] = False

    def words(values: npt.NDArray[np.int64] | npt.NDArray[np.uint8]) -> Words:
        return values.astype(np.uint8).view(np.uint64)

    six = words(digit * 6)
    return Pattern(shape, six, words(held) + six, words(np.where(digit, 0xF0, 0xFF) * inside))


def decode_rows(rows: Rows, at: Offsets, shape: Shape, found: Decoded) -> None:
    """Decode the numbers of lines that have one shape."""
    if shape.line is None:
        if shape.wanted:
            found.others.append(at)
        return

    def counted(span: Span | None) -> Integers | None:
        return None if span is None else integers(rows, span[0], shape.text[slice(*span)])

    def measured(span: Span) -> Floats | None:
        return floats(rows, span[0], shape.text[slice(*span)])

    note_lines(at, shape.line, counted, measured, found)
