"""Numbers are said as people say them, and strangers' text is made harmless."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stethoscope.causes import Standing
from stethoscope.report.clean_text import one_line
from stethoscope.report.words import certainty, chance, listed, number, percent


@pytest.mark.parametrize(
    ("probability", "said"),
    [
        (1.0, "almost certain, over 99%"),
        (0.9, "very likely, 90%"),
        (0.7, "likely, 70%"),
        (0.5, "possible, 50%"),
        (0.2, "unlikely, 20%"),
        (0.0, "very unlikely, under 1%"),
    ],
)
def test_a_chance_has_a_word_and_a_figure(probability: float, said: str) -> None:
    assert chance(probability) == said


def test_nothing_is_ever_certain_to_the_last_digit() -> None:
    assert "100" not in percent(0.99999)
    assert certainty(Standing.PROVED, 0.99) == "proved"
    assert certainty(Standing.SUPPORTED, 0.87) == "supported, 87%"


@pytest.mark.parametrize(
    ("value", "said"),
    [(65536.0, "65,536"), (0.123456, "0.1235"), (float("nan"), "nan"), (1e300, "1e+300"), (-3.0, "-3")],
)
def test_a_value_has_four_digits(value: float, said: str) -> None:
    assert number(value) == said


def test_a_long_list_is_counted() -> None:
    assert listed(["a", "b", "c"], 2) == "a, b and 1 more"


def test_escapes_are_shown_and_do_not_act() -> None:
    assert one_line("a\x1b[31mb\nc\td") == r"a\x1b[31mb c d"


def test_megabytes_are_cut_in_the_middle() -> None:
    cut = one_line("x" * 10_000_000, 100)
    assert len(cut) < 150
    assert cut.endswith("(10,000,000 characters)")


@given(st.text())
def test_one_line_is_one_printable_line(text: str) -> None:
    assert one_line(text).isprintable()
