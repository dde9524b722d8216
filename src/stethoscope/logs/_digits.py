"""Numbers at known places of a text, decoded in bulk: every value as `_numbers.number` would give it.

Eight characters are one 64-bit word, and one word is turned into a number by three multiplications, for
thousands of tokens at once. A decimal is an integer times a power of ten; the product is formed in
twice the precision of a float and rounded once, so that it is the very float that Python reads. What is
spelled in another way (thousands separators, NaN, more than 19 digits) is sorted out and read apart.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stethoscope.logs._numbers import number

AT_ONCE = 8192  # tokens decoded together: their words stay in the processor's cache
WORD = 8  # characters
LONGEST = 3 * WORD  # characters of a token that is decoded here; "-2.2250738585072014e-308" has 24
MARGIN = LONGEST + WORD  # bytes before the end of a token: words are read backwards, from before its exponent

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]

_U = np.uint64
_ZEROS = _U(0x3030303030303030)
_LOW = _U(0x7F7F7F7F7F7F7F7F)
_HIGH = _U(0x8080808080808080)
_PAST_NINE = _U(0x7676767676767676)  # added to a byte of 10 or more, this reaches its highest bit
_DOT = _U(0x1E)  # "." after the exclusive or with "0"
_SEVEN, _EIGHT, _SIXTEEN, _THIRTY_TWO = _U(7), _U(8), _U(16), _U(32)
_PAIRS, _QUADS = _U(0x00FF00FF00FF00FF), _U(0x0000FFFF0000FFFF)
_TENS, _HUNDREDS, _MYRIADS = _U(1 + (10 << 8)), _U(1 + (100 << 16)), _U(1 + (10_000 << 32))
_COMMAS = _U(0x0000008000000080)  # 1,234,567: before every third digit from the end
# The last n characters of a word: a little-endian word has its last character in its highest byte.
_LAST = np.array([(~0 << (64 - 8 * n)) & (2**64 - 1) for n in range(9)], np.uint64)


def decimals(buffer: Bytes, starts: Offsets, ends: Offsets) -> tuple[Values, Mask]:
    """The value of every token buffer[start:end], and whether it is a number; NaN where it is none."""
    values, good = np.empty(len(starts)), np.zeros(len(starts), np.bool_)
    if len(starts) == 0:
        return values, good
    if int(ends.min()) < MARGIN or int(starts.max()) >= len(buffer):
        margin = np.zeros(MARGIN, np.uint8)
        buffer = np.concatenate([margin, buffer, margin])
        starts, ends = starts + MARGIN, ends + MARGIN
    for at in range(0, len(starts), AT_ONCE):
        part = slice(at, at + AT_ONCE)
        _decode(buffer, starts[part], ends[part], values[part], good[part])
    return values, good


def _decode(buffer: Bytes, starts: Offsets, ends: Offsets, values: Values, good: Mask) -> None:
    first = buffer[starts]
    negative = first == ord("-")
    begins = starts + (negative | (first == ord("+")))
    found = _fixed(buffer, begins, ends)
    values[:] = found.mantissa if found.plain else scaled(found.mantissa, -found.places)
    good[:] = found.good
    if not good.all():
        rest = np.flatnonzero(~good)
        some, fine = _scientific(buffer, begins[rest], ends[rest])
        values[rest], good[rest] = some, fine
        rest = rest[~fine]
        _others(buffer, starts, begins, ends, rest, values, good)
        negative[rest] = False
    np.negative(values, out=values, where=negative)


# --- digits with at most one point ------------------------------------------------------------------


class _Fixed(NamedTuple):
    """Tokens as an integer of their digits and the number of digits behind the point."""

    mantissa: Words
    places: npt.NDArray[np.int64]
    good: Mask
    plain: bool  # no token has digits behind a point


def _fixed(buffer: Bytes, begins: Offsets, ends: Offsets) -> _Fixed:
    lengths = ends - begins
    longest = int(lengths.max(initial=0))
    used = min(max(1, -(-longest // WORD)), 3)
    total, odd, places = _words(buffer, lengths, ends, 0)
    for index in range(1, used):
        more, others, behind_point = _words(buffer, lengths, ends, index)
        if index == 2:
            odd += more >= _U(1000)  # more than 19 digits
        more *= _U(10 ** (8 * index))
        total += more
        odd += others
        places += behind_point
    good = (odd <= 1) & (lengths > odd) & (lengths <= LONGEST)
    if not odd.any():
        total *= good
        return _Fixed(total, np.zeros(len(total), np.int64), good, True)
    pointed = odd == 1
    places *= pointed
    behind = places.astype(np.int64)
    good &= ~pointed | (buffer[ends - 1 - behind] == ord("."))
    # The point was read as a digit 0: 12.34 as 12034. All before it moves down by one place.
    before = (total.astype(np.float64) * _TENTHS[places] + 0.4).astype(np.uint64)
    good &= ~pointed | (before < _U(10**14))  # beyond, the float above might round to its neighbour
    total -= before * _NINES[places] * pointed
    total *= good
    return _Fixed(total, behind, good, False)


_TENTHS = np.array([10.0 ** -(n + 1) for n in range(LONGEST)])
_NINES = np.array([9 * 10**n % 2**64 for n in range(LONGEST)], np.uint64)


def _words(
    buffer: Bytes, lengths: Offsets, ends: Offsets, index: int
) -> tuple[Words, npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """The value of the tokens' last word but `index`, how many characters of it are no digit, and where."""
    digits, odd = _digits(buffer, lengths, ends, index)
    count = _bits(odd)
    odd >>= _SEVEN
    places = _bits(odd - _U(1))  # eight bits for each character before the point
    places >>= 3
    np.subtract(8 * index + 7, places, out=places)
    places *= count
    odd *= _DOT
    digits -= odd
    return _eight(digits), count, places


def _digits(buffer: Bytes, lengths: Offsets, ends: Offsets, index: int) -> tuple[Words, Words]:
    """A word with its digits as bytes 0 to 9, and the highest bit of every byte that is no digit."""
    digits = _view(buffer)[ends - WORD * (index + 1)]
    digits ^= _ZEROS
    if index or int(lengths.min()) < WORD:
        digits &= _LAST[np.clip(lengths - WORD * index, 0, WORD)]
    odd = digits & _LOW
    odd += _PAST_NINE
    odd |= digits
    odd &= _HIGH
    return digits, odd


def _count_bits(words: Words) -> npt.NDArray[np.uint8]:
    """How many bits are set in each word; what NumPy has from 2.0 on."""
    pairs = words - ((words >> _U(1)) & _U(0x5555555555555555))
    quads = (pairs & _U(0x3333333333333333)) + ((pairs >> _U(2)) & _U(0x3333333333333333))
    octets = (quads + (quads >> _U(4))) & _U(0x0F0F0F0F0F0F0F0F)
    counts: npt.NDArray[np.uint8] = ((octets * _U(0x0101010101010101)) >> _U(56)).astype(np.uint8)
    return counts


_bits: Callable[[Words], npt.NDArray[np.uint8]] = getattr(np, "bitwise_count", _count_bits)


def _view(buffer: Bytes) -> Words:
    """The eight bytes from every byte on, as words."""
    return np.ndarray((len(buffer) - WORD + 1,), np.dtype("<u8"), buffer, strides=(1,))


def _eight(digits: Words) -> Words:
    """The number that eight bytes of 0 to 9 spell."""
    digits *= _TENS
    digits >>= _EIGHT
    digits &= _PAIRS
    digits *= _HUNDREDS
    digits >>= _SIXTEEN
    digits &= _QUADS
    digits *= _MYRIADS
    digits >>= _THIRTY_TWO
    return digits


# --- with an exponent -------------------------------------------------------------------------------

_LONGEST_EXPONENT = 5  # e-308


def _scientific(buffer: Bytes, begins: Offsets, ends: Offsets) -> tuple[Values, Mask]:
    """The tokens of the form 1.5e-05."""
    marks = np.full(len(ends), -1)
    for back in range(2, _LONGEST_EXPONENT + 1):
        marks[(buffer[ends - back] | 0x20) == ord("e")] = back
    e = ends - marks
    good = (marks > 0) & (e > begins)
    e = np.where(good, e, ends)
    sign = buffer[np.minimum(e + 1, len(buffer) - 1)]
    signed = (sign == ord("-")) | (sign == ord("+"))
    exponent, odd, _ = _words(buffer, np.where(good, ends - e - 1 - signed, 1), ends, 0)
    good &= (odd == 0) & (ends - e - 1 - signed > 0)
    mantissa = _fixed(buffer, begins, e)
    good &= mantissa.good
    powers = np.where(good, exponent, _U(0)).astype(np.int64)
    np.negative(powers, out=powers, where=sign == ord("-"))
    powers -= mantissa.places
    good &= np.abs(powers) <= FURTHEST
    return scaled(mantissa.mantissa, np.where(good, powers, 0)), good


# --- an integer times a power of ten ------------------------------------------------------------------

FURTHEST = 250  # powers of ten whose products with 19 digits stay clear of overflow and subnormals
_EXACT = 22  # powers of ten that are floats
_SPLITTER = 134217729.0  # 2^27 + 1 cuts a float into two of 26 bits
_DOUBT = 2.0**-98  # more than the relative error of a product in double precision twice over


def scaled(mantissa: Words, powers: npt.NDArray[np.int64]) -> Values:
    """mantissa * 10**powers, rounded once to the nearest float; the powers are at most FURTHEST."""
    high = mantissa.astype(np.float64)
    least, most = int(powers.min(initial=0)), int(powers.max(initial=0))
    if most <= 0 and least >= -_EXACT and int(mantissa.max(initial=0)) <= 2**53:
        high /= _TEN[-powers]  # both exact, so the quotient is rounded once
        return high
    ten = _powers_of_ten()
    at = powers + FURTHEST
    low = (mantissa - high.astype(np.uint64)).view(np.int64).astype(np.float64)
    power, upper, lower, rest = ten.power[at], ten.upper[at], ten.lower[at], ten.rest[at]
    product = high * power
    cut = high * _SPLITTER
    head = cut - (cut - high)
    tail = high - head
    error = ((head * upper - product) + head * lower + tail * upper) + tail * lower
    error += high * rest + low * power
    doubt = product * _DOUBT
    values: Values = product + (error + doubt)
    unsure = np.flatnonzero(values != product + (error - doubt))
    for index in unsure.tolist():  # next to the middle between two floats
        values[index] = float(Fraction(int(mantissa[index])) * Fraction(10) ** int(powers[index]))
    return values


_TEN = np.array([float(10**n) for n in range(_EXACT + 1)])


class _Powers(NamedTuple):
    """Powers of ten from -FURTHEST on: the nearest float, its two halves, and what it lacks."""

    power: Values
    upper: Values
    lower: Values
    rest: Values


@cache
def _powers_of_ten() -> _Powers:
    exact = [Fraction(10) ** n for n in range(-FURTHEST, FURTHEST + 1)]
    power = np.array([float(ten) for ten in exact])
    rest = np.array([float(ten - Fraction(float(ten))) for ten in exact])
    cut = power * _SPLITTER
    upper = cut - (cut - power)
    return _Powers(power, upper, power - upper, rest)


# --- everything else ----------------------------------------------------------------------------------


def _others(
    buffer: Bytes,
    starts: Offsets,
    begins: Offsets,
    ends: Offsets,
    rest: npt.NDArray[np.int64],
    values: Values,
    good: Mask,
) -> None:
    """Fill in words such as nan, separated thousands, and one by one what is left."""
    if len(rest) == 0:
        return
    values[rest] = np.nan
    lengths = ends[rest] - begins[rest]
    sign = np.where(buffer[starts[rest]] == ord("-"), -1.0, 1.0)
    digits, odd = _digits(buffer, np.minimum(lengths, LONGEST), ends[rest], 0)
    three = (digits | _U(0x2020202020202020)) ^ _ZEROS  # lower case; what lies before the word is "0"
    for text, value in (("nan", np.nan), ("inf", np.inf)):
        spelled = int.from_bytes(text.encode(), "little") << 40
        same = (lengths == 3) & ((three & _LAST[3]) == (_U(spelled) & _LAST[3]))
        values[rest[same]] = value * sign[same]
        good[rest[same]] = True
    separated = (odd == (_COMMAS & _LAST[np.clip(lengths, 0, WORD)])) & (lengths % 4 != 0)
    separated &= (lengths > 4) & (lengths < WORD) & (buffer[ends[rest] - 4] == ord(","))
    if separated.any():
        joined = _eight(digits - (odd >> _SEVEN) * _U(ord(",") ^ ord("0")))
        joined -= joined // _U(10_000) * _U(9_000)
        values[rest[separated]] = joined[separated] * sign[separated]
        good[rest[separated]] = True
    for index in rest[~good[rest]].tolist():
        single = number(bytes(buffer[starts[index] : ends[index]]).decode("latin-1"))
        if single is not None:
            values[index], good[index] = single, True
