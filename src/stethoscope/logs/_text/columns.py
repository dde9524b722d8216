"""Decodes a column of numbers that all have the same layout, such as the third number of lines of one shape.

The place of every sign, point and exponent is known from one of them, so only digits remain: up to eight are
looked at as one 64-bit word and turned into a number with three multiplications.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from stethoscope.logs._reading.digits import FURTHEST, eight, scaled
from stethoscope.logs._reading.numbers import number

# Lines of equal length, one below the other; before each stand PADDING bytes of no meaning.
Rows = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

PADDING = 8  # so that the word that ends in a line's first digit can be looked at
MOST_DIGITS = 18  # of an integer in 64 bits
SURELY_EXACT = 15  # digits of an integer that is a float; it and its power of ten are then both exact

_PARTS = re.compile(
    r"(?P<sign>[-+]?)(?P<whole>\d[\d,]*|)(?:\.(?P<fraction>\d*))?"
    r"(?:[eE](?P<esign>[-+]?)(?P<exponent>\d{1,3}))?"
)
_WHOLE = re.compile(r"\d[\d,]*")
# The values of the last so many of four or eight digits; the other bytes are cleared.
_NIBBLES_4 = [np.uint32((0x0F0F0F0F << 8 * (4 - width)) & 0xFFFFFFFF) for width in range(5)]
_NIBBLES_8 = [np.uint64((0x0F0F0F0F0F0F0F0F << 8 * (8 - width)) & (2**64 - 1)) for width in range(9)]


def floats(rows: Rows, start: int, layout: str) -> Floats | None:
    """The values of the tokens that begin at this column and look like `layout`; None for no number."""
    if "," in layout and number(layout) is None:
        return None  # commas that separate no thousands
    parts = _PARTS.fullmatch(layout)
    if parts is None or not (parts["whole"] or parts["fraction"]):
        constant = number(layout)  # nan, inf: nothing in it can differ
        return None if constant is None else np.full(len(rows), constant)
    fraction = parts["fraction"] or ""
    digits = sum(one.isdigit() for one in parts["whole"] + fraction)
    if digits > MOST_DIGITS:
        return _one_by_one(rows, start, len(layout))
    mantissa = _whole(rows, start + parts.start("whole"), parts["whole"])
    if fraction:
        mantissa *= 10 ** len(fraction)
        mantissa += _run(rows, start + parts.start("fraction"), len(fraction))
    power: Integers | int = -len(fraction)
    if parts["exponent"]:
        written = _run(rows, start + parts.start("exponent"), len(parts["exponent"]))
        power = (-written if parts["esign"] == "-" else written) - len(fraction)
    values = _scaled(mantissa, power, digits)
    if parts["sign"] == "-":
        np.negative(values, out=values)
    if not isinstance(power, int) and (far := np.abs(power) > FURTHEST).any():
        values[far] = _one_by_one(rows[far], start, len(layout))
    return values


def integers(rows: Rows, start: int, layout: str) -> Integers | None:
    """The same for whole numbers: steps and totals. None where the layout is no whole number."""
    if not _WHOLE.fullmatch(layout) or len(layout.replace(",", "")) > MOST_DIGITS:
        return None
    if "," in layout and number(layout) is None:
        return None
    return _whole(rows, start, layout)


def _whole(rows: Rows, start: int, text: str) -> Integers:
    """A whole number at a fixed place, thousands separators allowed."""
    total: Integers = np.zeros(len(rows), dtype=np.int64)
    for group in re.finditer(r"\d+", text):
        width = len(group[0])
        value = _run(rows, start + group.start(), width)
        total = total * 10**width + value if group.start() else value
    return total


def _run(rows: Rows, start: int, width: int) -> Integers:
    """The integers of this many digits at this column."""
    if width == 1:
        return rows[:, PADDING + start].astype(np.int64) - 48
    if width <= 4:
        return _four(rows, start + width, width)
    if width <= 8:
        return _eight(rows, start + width, width)
    head = _run(rows, start, width - 8)
    head *= 100_000_000
    head += _eight(rows, start + width, 8)
    return head


def _four(rows: Rows, end: int, width: int) -> Integers:
    words = _words(rows, "<u4", PADDING + end - 4) & _NIBBLES_4[width]
    words *= np.uint32(10 * 2**8 + 1)
    words >>= np.uint32(8)
    words &= np.uint32(0x00FF00FF)
    words *= np.uint32(100 * 2**16 + 1)
    words >>= np.uint32(16)
    return words.astype(np.int64)


def _eight(rows: Rows, end: int, width: int) -> Integers:
    words = _words(rows, "<u8", PADDING + end - 8) & _NIBBLES_8[width]
    return eight(words).view(np.int64)


def _words(rows: Rows, kind: str, column: int) -> npt.NDArray[np.unsignedinteger]:
    """What stands at this column of every row, as words of four or eight bytes."""
    return np.ndarray((len(rows),), dtype=kind, buffer=rows.data, offset=column, strides=(rows.shape[1],))


def _scaled(mantissa: Integers, power: Integers | int, digits: int) -> Floats:
    """The mantissas times powers of ten, rounded once."""
    if isinstance(power, int) and digits <= SURELY_EXACT:
        values = mantissa.astype(np.float64)
        if power:
            values /= 10.0**-power  # both are exact floats
        return values
    powers = np.full(len(mantissa), power) if isinstance(power, int) else power
    return scaled(mantissa.view(np.uint64), np.clip(powers, -FURTHEST, FURTHEST))


def _one_by_one(rows: Rows, start: int, width: int) -> Floats:
    tokens = np.ascontiguousarray(rows[:, PADDING + start : PADDING + start + width]).view(f"S{width}")
    texts = (token.replace(b",", b"") for token in tokens.ravel().tolist())
    return np.fromiter(map(float, texts), dtype=np.float64, count=len(rows))
