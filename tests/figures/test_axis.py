from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stethoscope.figures.axis import Axis, fitted, ticks, written

UNITS = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
numbers = st.floats(-1e200, 1e200, allow_nan=False)


def value_of(text: str) -> float:
    """What a tick says, read back."""
    return float(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else float(text)


@given(numbers, numbers, st.integers(2, 12))
def test_every_tick_lies_on_the_axis_and_says_where(a: float, b: float, most: int) -> None:
    axis = fitted([np.array([a, b])])
    found = ticks(axis, most)
    span = axis.high - axis.low
    assert found == sorted(found, key=lambda tick: tick.value)
    assert 2 <= len(found) <= max(most, 4) + 1
    for tick in found:
        assert axis.low - 1e-6 * span <= tick.value <= axis.high + 1e-6 * span


@given(st.floats(1e-290, 1e150), st.floats(1, 1e140), st.integers(1, 12))
def test_ticks_of_a_logarithmic_axis_lie_on_it(low: float, factor: float, most: int) -> None:
    axis = fitted([np.array([low, low * factor])], log=True)
    named = [tick for tick in ticks(axis, most) if tick.text]
    assert len(named) >= 2
    for tick in named:
        assert axis.low * (1 - 1e-6) <= tick.value <= axis.high * (1 + 1e-6)


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0, 1, ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (0, 10, ["0", "2", "4", "6", "8", "10"]),
        (0, 250_000, ["0", "50k", "100k", "150k", "200k", "250k"]),
        (-2.5e6, 2.5e6, ["-2M", "-1M", "0", "1M", "2M"]),
        (0, 5e-5, ["0", "1e-5", "2e-5", "3e-5", "4e-5", "5e-5"]),
        (0.99, 1.0, ["0.990", "0.992", "0.994", "0.996", "0.998", "1.000"]),
    ],
)
def test_ticks_are_the_round_numbers_a_person_would_write(low: float, high: float, texts: list[str]) -> None:
    found = ticks(Axis(low, high), 5)
    assert [tick.text for tick in found] == texts
    assert [value_of(tick.text) for tick in found] == pytest.approx([tick.value for tick in found])


def test_decades_are_named_and_the_rest_is_not() -> None:
    found = ticks(Axis(1e-5, 1e-2, log=True), 6)
    assert [tick.text for tick in found if tick.text] == ["1e-5", "1e-4", "0.001", "0.01"]
    assert sum(not tick.text for tick in found) == 3 * 8


def test_a_short_logarithmic_axis_still_has_several_names() -> None:
    for low, high in [(3, 5), (1, 9), (2, 30), (0.8, 12)]:
        assert len([tick for tick in ticks(Axis(low, high, log=True), 6) if tick.text]) >= 3


def test_many_decades_are_named_in_equal_strides() -> None:
    powers = [math.log10(tick.value) for tick in ticks(Axis(1e-30, 1e30, log=True), 6) if tick.text]
    assert len(powers) <= 7
    assert np.ptp(np.diff(powers)) == pytest.approx(0)


def test_what_cannot_be_drawn_does_not_move_the_axis() -> None:
    axis = fitted([np.array([1.0, 2.0, np.nan, np.inf, -np.inf, 1e305])])
    assert (axis.low, axis.high) == pytest.approx((0.96, 2.04))
    axis = fitted([np.array([0.0, -3.0, 10.0, 1000.0])], log=True)
    assert axis.low > 5
    assert axis.high < 2000


def test_a_constant_lies_in_the_middle_of_its_axis() -> None:
    for value in (0.0, 5.0, -1e-8, 1e200):
        assert fitted([np.array([value, value])]).at(value) == pytest.approx(0.5)
    assert fitted([np.array([7.0])], log=True).at(7.0) == pytest.approx(0.5)


def test_nothing_at_all_still_gives_an_axis() -> None:
    assert fitted([]) == Axis(0.0, 1.0)
    assert fitted([np.array([-1.0])], log=True) == Axis(1.0, 10.0, log=True)


def test_what_begins_at_zero_stands_on_the_frame() -> None:
    assert fitted([np.array([0.0, 8.0])]).low == 0


def test_limits_hold_and_senseless_ones_are_passed_over() -> None:
    values = [np.array([1.0, 9.0])]
    assert (fitted(values, limits=(0, 5)).low, fitted(values, limits=(0, 5)).high) == (0, 5)
    assert fitted(values, limits=(None, 20)).high == 20
    assert fitted(values, limits=(5, 5)) == fitted(values)
    assert fitted(values, log=True, limits=(0, None)) == fitted(values, log=True)


def test_shares_follow_the_logarithm() -> None:
    shares = Axis(1.0, 1000.0, log=True).share(np.array([1.0, 10.0, 1000.0, 0.0, -1.0, np.nan]))
    assert shares[:3] == pytest.approx([0, 1 / 3, 1])
    assert np.isnan(shares[3:]).all()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (65504, "65504"),
        (1e6, "1e6"),
        (0.12345678, "0.1235"),
        (3.2e-7, "3.2e-7"),
        (-1e-20, "-1e-20"),
    ],
)
def test_numbers_are_written_short(value: float, text: str) -> None:
    assert written(value) == text
