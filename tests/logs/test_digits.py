"""Numbers decoded in bulk are the numbers that Python reads one by one."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stethoscope.logs._reading import digits as _digits
from stethoscope.logs._reading.digits import decimals
from stethoscope.logs._reading.numbers import number

ODD = [
    *(
        "",
        "-",
        "+",
        ".",
        "e",
        "e5",
        "1e",
        "1e+",
        ".e5",
        "1..2",
        "1.2.3",
        "--5",
        "0x1f",
        "1_000",
        "nan",
        "NaN",
    ),
    *("-nan", "+nan", "NAN", "inf", "-inf", "Inf", "Infinity", "-Infinity", "na", "nano", "1e400", "1e-400"),
    *("-0.0", "0", "-0", "00012", "5.", ".5", "-.5", "+.5e3", "1.e5", "1E5", "2.2250738585072014e-308"),
    *("5e-324", "1.7976931348623157e308", "1,234", "12,345.5", "1,234,567", "-1,234,567", "12,34", "1,2345"),
    *("123,456,789,012", "1_234", ",123", "9007199254740993", "9007199254740993.0", "18446744073709551615"),
    *("99999999999999999999", "220126996736552716516472320425984.000", "1" * 50, "0." + "0" * 30 + "1"),
    *(
        "12345678",
        "123456789012345678",
        "1234567890123456789",
        "0.1234567890123456789",
        "9999999999999999999",
    ),
    *(
        "tensor(2.5)",
        "1.#QNAN",
        "12.3%",
        "\u0663",
        "1\u00b2",
        " 5",
        "5 ",
        "1 2",
        "1/2",
        "1:2",
        "1e5.5",
        "1ee5",
    ),
]


def decoded(tokens: list[str], before: str = "") -> list[float | None]:
    text = before.encode() + b"|".join(token.encode() for token in tokens)
    sizes = np.array([len(token.encode()) for token in tokens], np.int64)
    ends = np.cumsum(sizes + 1) - 1 + len(before.encode())
    values, good = decimals(np.frombuffer(text, np.uint8), ends - sizes, ends)
    assert np.isnan(values[~good]).all()
    return [value if fine else None for value, fine in zip(values.tolist(), good.tolist(), strict=True)]


def bits(value: float | None) -> bytes | None:
    """What tells -0.0 from 0.0 and takes every NaN for one."""
    return None if value is None else b"nan" if math.isnan(value) else struct.pack("d", value)


def expected(token: str) -> float | None:
    return number(token.encode().decode("latin-1"))


def same(tokens: list[str]) -> None:
    found = decoded(tokens)
    for token, value in zip(tokens, found, strict=True):
        assert bits(value) == bits(expected(token)), token


def test_every_odd_spelling_is_read_as_one_by_one() -> None:
    same(ODD)
    for token in ODD:
        same([token])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.floats() | st.integers(-(10**25), 10**25) | st.floats(-10, 10), min_size=1, max_size=40))
@example([5e-324, 2.0**-1074, 1e22, 1e23, 9007199254740993, 0.1, 1 / 3])
def test_what_python_prints_is_read_back(values: list[float | int]) -> None:
    same([repr(value) for value in values])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.from_regex(r"[-+]?\d{0,20}\.?\d{0,20}([eE][-+]?\d{0,3})?", fullmatch=True), max_size=30))
def test_any_decimal_is_rounded_once(tokens: list[str]) -> None:
    same(tokens)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("0123456789.,eE+-naifNI _%\u00e9", max_size=30), max_size=30))
def test_any_token_is_a_number_or_none(tokens: list[str]) -> None:
    same(tokens)


@settings(max_examples=200, deadline=None)
@given(st.integers(2**53, 2**62), st.floats(1e-200, 1e200))
def test_the_middle_between_two_floats_is_rounded_to_even(whole: int, scale: float) -> None:
    lower = int(float(whole))
    middle = (lower + int(math.nextafter(lower, math.inf))) // 2
    same([str(middle), f"{middle}.0", f"{middle}e0", f"{middle / 2**20:.20f}"])
    same([f"{scale:.16e}", f"{scale:.17e}", f"{scale:.18e}"])


def test_grouped_thousands_are_read_in_bulk() -> None:
    same([f"{value:,}" for value in (1, 12, 999, 1_000, 30_000, 999_999, 1_000_000, 123_456_789, 10**15)])


def test_many_tokens_are_cut_into_parts() -> None:
    tokens = [repr(step / 7) for step in range(3 * _digits.AT_ONCE + 5)]
    assert decoded(tokens) == [step / 7 for step in range(len(tokens))]


@pytest.mark.parametrize("before", ["", "x" * 7, "9" * 40])
def test_what_stands_around_a_token_does_not_count(before: str) -> None:
    assert decoded(["12.5", "7", "1e3"], before) == [12.5, 7.0, 1000.0]


def test_bits_are_counted_alike_without_numpys_own_function() -> None:
    words = np.array([0, 1, 2**64 - 1, 0x8080808080808080, 12345678901234567], np.uint64)
    assert _digits._count_bits(words).tolist() == [bin(int(word)).count("1") for word in words]
