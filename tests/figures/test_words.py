from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stethoscope.figures.words import escaped, harmless, shortened, width, wrapped


@given(st.text(), st.floats(20, 400))
def test_lines_are_never_wider_than_asked(text: str, widest: float) -> None:
    assert all(
        width(
            line,
            12,
        )
        <= widest
        for line in wrapped(text, 12, widest)
    )


def test_words_are_kept_in_their_order() -> None:
    text = "the loss scale keeps halving until gradients vanish"
    assert " ".join(wrapped(text, 12, 90)) == text
    assert len(wrapped(text, 12, 90)) > 2


def test_what_is_too_wide_ends_in_an_ellipsis() -> None:
    assert shortened("a" * 100, 12, 60).endswith("\u2026")
    assert shortened("short", 12, 60) == "short"


@given(st.text())
def test_nothing_that_acts_is_left(text: str) -> None:
    shown = harmless(text)
    assert all(letter.isprintable() or letter == " " for letter in shown)
    assert "\n" not in shown
    assert not set("<>\"'") & set(escaped(text))


def test_a_text_of_megabytes_is_cut() -> None:
    assert len(harmless("x" * 5_000_000)) == 2000


def test_wide_letters_are_wider() -> None:
    assert width("W", 10) > width("i", 10)
    assert width("\u6f22", 10) > width("a", 10)
