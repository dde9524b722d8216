"""Decodes a column of numbers that all have the same layout, such as the third number of lines of one shape.

The place of every sign, point and exponent is known from one of them, so only digits remain: eight at a time
are gathered as one 64-bit word and turned into a number with three multiplications.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from stethoscope.logs._numbers import number

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

PADDING = 8  # bytes that must lie before the first number, so that a word that ends in it can be gathered
EXACT = 2**53  # integers up to here are floats, and one division by an exact power of ten rounds correctly
MOST_EXACT_POWER = 22
MOST_DIGITS = 18  # of an integer in 64 bits

_PARTS = re.compile(
    r"(?P<sign>[-+]?)(?P<whole>\d[\d,]*|)(?:\.(?P<fraction>\d*))?(?:[eE](?P<esign>[-+]?)(?P<exponent>\d{1,3}))?"
)
_POWERS = np.array([10.0**power for power in range(MOST_EXACT_POWER + 1)])
_EVEN_BYTES = np.uint64(0x00FF00FF00FF00FF)
_EVEN_WORDS = np.uint64(0x0000FFFF0000FFFF)


def floats(buffer: Bytes, offsets: Offsets, layout: str) -> Floats | None:
    """The values of the tokens that stand at these offsets and look like `layout`; None for no number."""
    parts = _PARTS.fullmatch(layout)
    if parts is None or not (parts["whole"] or parts["fraction"]):
        constant = number(layout)  # nan, inf: nothing in it can differ
        return None if constant is None else np.full(len(offsets), constant)
    whole, fraction = parts["whole"], parts["fraction"] or ""
    digits = len(whole.replace(",", "")) + len(fraction)
    if digits > MOST_DIGITS:
        return _one_by_one(buffer, offsets, len(layout))
    mantissa = _digits(buffer, offsets, parts.span("whole"), whole)
    if fraction:
        mantissa = mantissa * 10 ** len(fraction) + _run(
            buffer, offsets + parts.start("fraction"), len(fraction)
        )
    power: Integers | int = -len(fraction)
    if parts["exponent"]:
        written = _run(buffer, offsets + parts.start("exponent"), len(parts["exponent"]))
        power = (-written if parts["esign"] == "-" else written) - len(fraction)
    values = _scaled(mantissa, power)
    if parts["sign"] == "-":
        values = -values
    if digits > 15 or parts["exponent"]:
        _correct(values, mantissa, power, buffer, offsets, len(layout))
    return values


def integers(buffer: Bytes, offsets: Offsets, layout: str) -> Integers | None:
    """The same for whole numbers: steps and totals. None where the layout is no whole number."""
    if not re.fullmatch(r"\d[\d,]*", layout) or len(layout.replace(",", "")) > MOST_DIGITS:
        return None
    return _digits(buffer, offsets, (0, len(layout)), layout)


def _digits(buffer: Bytes, offsets: Offsets, span: tuple[int, int], text: str) -> Integers:
    """A whole number at a fixed place, thousands separators allowed."""
    total: Integers = np.zeros(len(offsets), dtype=np.int64)
    for run in re.finditer(r"\d+", text):
        width = run.end() - run.start()
        value = _run(buffer, offsets + (span[0] + run.start()), width)
        total = total * 10**width + value if run.start() else value
    return total


def _run(buffer: Bytes, starts: Offsets, width: int) -> Integers:
    """The integers that stand at these offsets with this many digits each."""
    if width == 1:
        return buffer[starts].astype(np.int64) - 48
    if width <= 8:
        return _word(buffer, starts + (width - 8), width)
    head = _run(buffer, starts, width - 8)
    tail: Integers = head * 100_000_000 + _word(buffer, starts + (width - 8), 8)
    return tail


def _word(buffer: Bytes, starts: Offsets, width: int) -> Integers:
    """The number in the last `width` of the eight characters at each offset."""
    # A strided view and plain indexing: `take` on such a view would copy all of it.
    words = np.ndarray((len(buffer) - 7,), dtype="<u8", buffer=buffer, strides=(1,))[starts]
    words = (words >> np.uint64(8 * (8 - width))) << np.uint64(8 * (8 - width)) if width < 8 else words
    words &= np.uint64(0x0F0F0F0F0F0F0F0F)
    words = (words * np.uint64(10) + (words >> np.uint64(8))) & _EVEN_BYTES
    words = (words * np.uint64(100) + (words >> np.uint64(16))) & _EVEN_WORDS
    words = (words * np.uint64(10_000) + (words >> np.uint64(32))) & np.uint64(0xFFFFFFFF)
    return words.astype(np.int64)


def _scaled(mantissa: Integers, power: Integers | int) -> Floats:
    values = mantissa.astype(np.float64)
    if isinstance(power, int):
        exact: Floats = values / _POWERS[-power] if power else values
        return exact
    small = np.clip(power, -MOST_EXACT_POWER, MOST_EXACT_POWER)
    down = small < 0
    factors = _POWERS[np.abs(small)]
    scaled: Floats = np.where(down, values / factors, values * factors)
    return scaled


def _correct(
    values: Floats, mantissa: Integers, power: Integers | int, buffer: Bytes, offsets: Offsets, width: int
) -> None:
    """Read again, with Python's own conversion, what the shortcut does not round correctly."""
    rough = mantissa >= EXACT
    if not isinstance(power, int):
        rough |= np.abs(power) > MOST_EXACT_POWER
    at = np.flatnonzero(rough)
    if len(at):
        values[at] = _one_by_one(buffer, offsets[at], width)


def _one_by_one(buffer: Bytes, offsets: Offsets, width: int) -> Floats:
    raw = buffer.data
    texts = (bytes(raw[start : start + width]).replace(b",", b"") for start in offsets.tolist())
    return np.fromiter(map(float, texts), dtype=np.float64, count=len(offsets))
