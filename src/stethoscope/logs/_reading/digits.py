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
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stethoscope.logs._reading.numbers import number

AT_ONCE = 8192  # tokens decoded together: their words stay in the processor's cache
WORD = 8  # characters
FEW = 64  # tokens that are read one by one sooner than in bulk
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
# What of each word belongs to a token of n characters, the token's last word first: a little-endian word
# has its last character in its highest byte.
_LAST = np.array(
    [
        [(~0 << (64 - 8 * min(max(n - WORD * index, 0), 8))) & (2**64 - 1) for n in range(LONGEST + 1)]
        for index in range(3)
    ],
    np.uint64,
)


def decimals(buffer: Bytes, starts: Offsets, ends: Offsets) -> tuple[Values, Mask]:
    """The value of every token buffer[start:end], and whether it is a number; NaN where it is none."""
    values, good = np.empty(len(starts)), np.zeros(len(starts), np.bool_)
    if len(buffer) < 2 * MARGIN:
        margin = np.zeros(MARGIN, np.uint8)
        buffer = np.concatenate([margin, buffer, margin])
        starts, ends = starts + MARGIN, ends + MARGIN
    edge = np.flatnonzero((ends < MARGIN) | (ends >= len(buffer)))
    inner, outer = (starts, ends) if len(edge) == 0 else _moved(starts, ends, edge)
    for at in range(0, len(starts), AT_ONCE):
        part = slice(at, at + AT_ONCE)
        _decode(buffer, inner[part], outer[part], values[part], good[part])
    if len(edge):
        nothing = np.full(len(edge), np.nan), np.zeros(len(edge), np.bool_)
        values[edge], good[edge] = _one_by_one(buffer, starts[edge], ends[edge], *nothing)
    return values, good


def _moved(starts: Offsets, ends: Offsets, edge: npt.NDArray[np.int64]) -> tuple[Offsets, Offsets]:
    """The tokens, with those too near the buffer's edges replaced by empty ones."""
    starts, ends = starts.copy(), ends.copy()
    starts[edge] = ends[edge] = MARGIN
    return starts, ends


def _decode(buffer: Bytes, starts: Offsets, ends: Offsets, values: Values, good: Mask) -> None:
    first = buffer[starts]
    negative = first == ord("-")
    begins = starts + (negative | (first == ord("+")))
    with_exponent = np.flatnonzero((buffer[ends - 4] | 0x20) == ord("e"))  # 1.5e-05
    if len(with_exponent):
        with_exponent = with_exponent[ends[with_exponent] - 4 > begins[with_exponent]]
    found = _fixed(buffer, begins, _before(ends, with_exponent, 4))
    good[:] = found.good
    if len(with_exponent):
        powers, fine = _exponents(buffer, ends[with_exponent])
        found.powers[with_exponent] += powers
        good[with_exponent] &= fine
    if found.plain and len(with_exponent) == 0:
        values[:] = found.mantissa
    else:
        values[:] = scaled(found.mantissa, found.powers)
    if not good.all():
        rest = np.flatnonzero(~good)
        if len(rest) > FEW:
            values[rest], good[rest] = _scientific(buffer, begins[rest], ends[rest])
            rest = rest[~good[rest]]
        if len(rest):
            values[rest], good[rest] = _others(buffer, starts[rest], begins[rest], ends[rest])
            negative[rest] = False
    np.negative(values, out=values, where=negative)


def _before(ends: Offsets, some: npt.NDArray[np.int64], length: int) -> Offsets:
    if len(some) == 0:
        return ends
    shortened = ends.copy()
    shortened[some] -= length
    return shortened


def _exponents(buffer: Bytes, ends: Offsets) -> tuple[npt.NDArray[np.int64], Mask]:
    """The powers that the last three characters of tokens such as 1.5e-05 spell."""
    sign, tens, ones = buffer[ends - 3], buffer[ends - 2] - ord("0"), buffer[ends - 1] - ord("0")
    powers = (tens * 10 + ones).astype(np.int64)
    negative = sign == ord("-")
    good = (negative | (sign == ord("+"))) & (tens < 10) & (ones < 10)
    return np.where(good, np.where(negative, -powers, powers), 0), good


# --- digits with at most one point ------------------------------------------------------------------


class _Fixed(NamedTuple):
    """Tokens as an integer of their digits and the power of ten that the point stands for."""

    mantissa: Words
    powers: npt.NDArray[np.int64]
    good: Mask
    plain: bool  # no token has a point


def _fixed(buffer: Bytes, begins: Offsets, ends: Offsets) -> _Fixed:
    lengths = ends - begins
    longest = int(lengths.max(initial=0))
    digits, odd = _digits(buffer, lengths, ends, min(max(1, -(-longest // WORD)), 3))
    counts = _bits(odd)
    count = counts.sum(axis=0, dtype=np.uint8)
    good = (count <= 1) & (lengths > count) & (lengths <= LONGEST)
    if not count.any():
        total = _joined(eight(digits), good)
        total *= good
        return _Fixed(total, np.zeros(len(total), np.int64), good, True)
    odd >>= _SEVEN
    places = _places(odd, counts)
    odd *= _DOT
    digits -= odd
    total = _joined(eight(digits), good)
    pointed = count == 1
    places *= pointed
    powers = places.astype(np.int64)
    good &= ~pointed | (buffer[ends - 1 - powers] == ord("."))
    # The point was read as a digit 0: 12.34 as 12034. All before it moves down by one place.
    before = (total.astype(np.float64) * _TENTHS[powers] + 0.4).astype(np.uint64)
    good &= ~pointed | (before < _U(10**14))  # beyond, the float above might round to its neighbour
    before *= _NINES[powers]
    before *= pointed
    total -= before
    total *= good
    np.negative(powers, out=powers)
    return _Fixed(total, powers, good, False)


_TENTHS = np.array([10.0 ** -(n + 1) for n in range(LONGEST)])
_NINES = np.array([9 * 10**n % 2**64 for n in range(LONGEST)], np.uint64)


def _digits(buffer: Bytes, lengths: Offsets, ends: Offsets, words: int) -> tuple[Words, Words]:
    """The last words of each token, the last one first, as bytes of 0 to 9; and the highest bit of every
    byte that is no digit. What stands before the token is 0."""
    if words == 1:
        digits = _windows(buffer, "<u8")[ends - WORD].reshape(1, -1)
    else:
        taken = _windows(buffer, f"V{WORD * words}")[ends - WORD * words]
        digits = np.ascontiguousarray(taken.view("<u8").reshape(-1, words).T[::-1])
    digits ^= _ZEROS
    shortest = int(lengths.min(initial=LONGEST))
    within = np.clip(lengths, 0, LONGEST)
    for index in range(words):
        if shortest < WORD * (index + 1):
            digits[index] &= _LAST[index][within]
    odd = digits & _LOW
    odd += _PAST_NINE
    odd |= digits
    odd &= _HIGH
    return digits, odd


def _windows(buffer: Bytes, kind: str) -> npt.NDArray[Any]:
    """The bytes from every byte on, as words."""
    dtype = np.dtype(kind)
    return np.ndarray((max(len(buffer) - dtype.itemsize + 1, 0),), dtype, buffer, strides=(1,))


def _places(odd: Words, counts: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """How many characters stand behind the one that is no digit, given as the lowest bit of its byte."""
    places = _bits(odd - _U(1))  # eight bits for each character before it in its word
    places >>= 3
    np.subtract(np.arange(7, 8 * len(places), 8, dtype=np.uint8)[:, None], places, out=places)
    places *= counts
    total: npt.NDArray[np.uint8] = places.sum(axis=0, dtype=np.uint8)
    return total


def eight(digits: Words) -> Words:
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


def _joined(eights: Words, good: Mask) -> Words:
    """One number of up to three times eight digits; `good` is cleared where that is more than 64 bits."""
    total: Words = eights[0]
    for index in range(1, len(eights)):
        if index == 2:
            good &= eights[index] < _U(1000)  # 19 digits
        eights[index] *= _U(10 ** (WORD * index))
        total += eights[index]
    return total


def _count_bits(words: Words) -> npt.NDArray[np.uint8]:
    """How many bits are set in each word; what NumPy has from 2.0 on."""
    pairs = words - ((words >> _U(1)) & _U(0x5555555555555555))
    quads = (pairs & _U(0x3333333333333333)) + ((pairs >> _U(2)) & _U(0x3333333333333333))
    octets = (quads + (quads >> _U(4))) & _U(0x0F0F0F0F0F0F0F0F)
    counts: npt.NDArray[np.uint8] = ((octets * _U(0x0101010101010101)) >> _U(56)).astype(np.uint8)
    return counts


_bits: Callable[[Words], npt.NDArray[np.uint8]] = getattr(np, "bitwise_count", _count_bits)


# --- exponents of any width ---------------------------------------------------------------------------

_LONGEST_EXPONENT = 5  # e-308


def _scientific(buffer: Bytes, begins: Offsets, ends: Offsets) -> tuple[Values, Mask]:
    """The tokens of the forms 1e5, 1.5e-5 and 2e+300."""
    back = np.zeros(len(ends), np.int64)
    for length in range(2, _LONGEST_EXPONENT + 1):
        back[(buffer[ends - length] | 0x20) == ord("e")] = length
    good = (back > 0) & (ends - back > begins)
    if not good.any():
        return np.full(len(ends), np.nan), good
    e = ends - np.where(good, back, 0)
    sign = buffer[np.minimum(e + 1, len(buffer) - 1)]
    signed = (sign == ord("-")) | (sign == ord("+"))
    exponent = _fixed(buffer, np.where(good, e + 1 + signed, ends), ends)
    mantissa = _fixed(buffer, begins, e)
    good &= mantissa.good & exponent.good & (exponent.powers == 0)
    powers = exponent.mantissa.astype(np.int64)
    np.negative(powers, out=powers, where=sign == ord("-"))
    powers += mantissa.powers
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
    power = ten.power[at]
    product = high * power
    error = _rounding(high, product, ten.upper[at], ten.lower[at])
    low = (mantissa - high.astype(np.uint64)).view(np.int64).astype(np.float64)
    low *= power
    error += low
    error += high * ten.rest[at]
    doubt = product * _DOUBT
    values: Values = product + (error + doubt)
    error -= doubt
    error += product
    for index in np.flatnonzero(values != error).tolist():  # next to the middle between two floats
        values[index] = float(Fraction(int(mantissa[index])) * Fraction(10) ** int(powers[index]))
    return values


def _rounding(factor: Values, product: Values, upper: Values, lower: Values) -> Values:
    """What the rounded product of a factor and (upper + lower) lacks (Dekker's product)."""
    cut = factor * _SPLITTER
    head = cut - factor
    np.subtract(cut, head, out=head)
    tail = np.subtract(factor, head, out=cut)
    error = head * upper
    error -= product
    head *= lower
    error += head
    upper *= tail
    error += upper
    lower *= tail
    error += lower
    return error


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


def _others(buffer: Bytes, starts: Offsets, begins: Offsets, ends: Offsets) -> tuple[Values, Mask]:
    """Words such as nan, separated thousands, and one by one what is left."""
    values, good = np.full(len(starts), np.nan), np.zeros(len(starts), np.bool_)
    if len(starts) <= FEW:
        return _one_by_one(buffer, starts, ends, values, good)
    lengths = ends - begins
    sign = np.where(buffer[starts] == ord("-"), -1.0, 1.0)
    for text, value in ((b"nan", np.nan), (b"inf", np.inf)):
        same = lengths == len(text)
        for at, letter in enumerate(text):
            same &= (buffer[begins + np.where(same, at, 0)] | 0x20) == letter
        good |= same
        np.multiply(sign, value, out=values, where=same)
    joined, separated = _thousands(buffer, lengths, ends)
    np.multiply(sign, joined, out=values, where=separated)
    good |= separated
    return _one_by_one(buffer, starts, ends, values, good)


def _one_by_one(
    buffer: Bytes, starts: Offsets, ends: Offsets, values: Values, good: Mask
) -> tuple[Values, Mask]:
    for index in np.flatnonzero(~good & _may_begin(buffer, starts, ends)).tolist():
        single = number(buffer[starts[index] : ends[index]].tobytes().decode("latin-1"))
        if single is not None:
            values[index], good[index] = single, True
    return values, good


def _thousands(buffer: Bytes, lengths: Offsets, ends: Offsets) -> tuple[Words, Mask]:
    """The tokens of the form 1,234,567."""
    digits, odd = _digits(buffer, np.minimum(lengths, 2 * WORD), ends, 2)
    good = (lengths > 4) & (lengths < 2 * WORD) & (lengths % 4 != 0)
    for index in range(2):
        good &= odd[index] == (_COMMAS & _LAST[index][np.clip(lengths, 0, LONGEST)])
    for back in range(4, 2 * WORD, 4):
        good &= (lengths < back) | (buffer[ends - back] == ord(","))
    odd >>= _SEVEN
    odd *= _U(ord(",") ^ ord("0"))
    digits -= odd
    eights = eight(digits)
    eights -= eights // _U(10_000) * _U(9_000)  # 0ddd,0ddd -> dddddd
    return eights[0] + eights[1] * _U(1_000_000), good


# What a number in one of its spellings begins with: 1, -1, .5, nan, inf, tensor(1.0), and blanks before it.
_BEGINNINGS = np.isin(np.arange(256), np.frombuffer(b"0123456789+-.nNiItT \t\r\n\f\v\xa0\x85", np.uint8))


def _may_begin(buffer: Bytes, starts: Offsets, ends: Offsets) -> Mask:
    return (ends > starts) & _BEGINNINGS[buffer[np.minimum(starts, len(buffer) - 1)]]
