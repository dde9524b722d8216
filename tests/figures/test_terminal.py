from __future__ import annotations

import re

import numpy as np
import pytest

from stethoscope.figures.chart import Band, Chart, Estimate, Estimates, Figure, Image, Level, Line, Mark
from stethoscope.figures.terminal import render

RISING = Chart("Loss", "step", "loss", [Line("loss", [0, 1], [0, 1])], x_limits=(0, 1), y_limits=(0, 1))


def grid(text: str, upright: str) -> list[str]:
    return [row.partition(upright)[2] for row in text.splitlines() if upright in row]


def test_a_rising_line_goes_from_corner_to_corner() -> None:
    rows = grid(render(RISING, width=30, height=8, encoding="ascii"), "|")
    assert len(rows) == 8
    assert rows[0].rstrip()[-1] == "*"
    assert rows[-1][0] == "*"
    firsts = [row.index("*") for row in rows]
    assert firsts == sorted(firsts, reverse=True)


def test_braille_dots_lie_on_the_line() -> None:
    rows = grid(render(RISING, width=30, height=8), "\u2502")
    wide = max(len(row) for row in rows)
    bits = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
    lit = []
    for row, letters in enumerate(rows):
        for column, letter in enumerate(letters.replace(" ", "\u2800")):
            for down, across in zip(*np.nonzero(bits & (ord(letter) - 0x2800)), strict=True):
                lit.append((column * 2 + across, row * 4 + down))
    across, down = np.array(lit).T
    assert down == pytest.approx(31 - across / (2 * wide - 1) * 31, abs=1)


def test_lines_without_colour_have_letters_and_a_legend() -> None:
    text = render(
        Chart(lines=[Line("sick", [0, 1], [1, 1]), Line("cured", [0, 1], [0, 0])]), width=40, height=6
    )
    assert "* sick  o cured" in text
    rows = grid(text, "\u2502")
    assert "*" in rows[0] + rows[1]
    assert "o" in rows[-1] + rows[-2]


def test_colours_are_those_of_the_tones() -> None:
    lines = [Line("sick", [0, 1], [1, 1], tone="bad"), Line("cured", [0, 1], [0, 0], tone="good")]
    text = render(Chart(lines=lines), colour=True)
    assert re.search("\x1b\\[31m[\u2800-\u28ff]{5,}\x1b\\[0m", text)
    assert re.search("\x1b\\[34m[\u2800-\u28ff]{5,}\x1b\\[0m", text)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1", "ANSI_X3.4-1968"])
def test_other_encodings_get_ascii_alone(encoding: str) -> None:
    everything = Figure(
        "\u03c3 over steps",
        [RISING, Image("i", np.eye(4)), Estimates("e", rows=[Estimate("\u03b2", 1, 0, 2)], reference=0)],
    )
    assert render(everything, encoding=encoding).isascii()


def test_rows_are_no_wider_than_asked() -> None:
    chart = Chart(
        "A title that is longer than the terminal is wide",
        "x",
        "y",
        [Line(f"line number {index}", range(50), np.arange(50) * index) for index in range(7)],
        marks=[Mark(10, "a mark with words")],
        levels=[Level(3, "a level with words")],
        note="And a note that has to be broken into several lines to be seen.",
    )
    estimates = Estimates("t", "x", [Estimate("a name " * 9, 1, 0, 2, text="much text " * 5)], reference=0)
    for text in (render(chart, width=40), render(estimates, width=40)):
        assert max(len(row) for row in text.splitlines()) <= 40


def test_gaps_stay_empty_and_odd_numbers_do_not_break_it() -> None:
    values = np.full(100, 1.0)
    values[40:60] = np.nan
    rows = grid(render(Chart(lines=[Line("", range(100), values)]), width=60, encoding="ascii"), "|")
    (drawn,) = [row for row in rows if "*" in row]
    assert " " * 8 in drawn.strip()
    for awkward in ([], [np.nan], [1e308, -1e308], [5e-324, 1e300], [np.inf, 1.0]):
        for log in (False, True):
            render(Chart(lines=[Line("a", range(len(awkward)), awkward)], log_y=log))


def test_a_spike_among_a_million_points_is_seen() -> None:
    values = np.zeros(1_000_000)
    values[500_000] = 1
    rows = grid(render(Chart(lines=[Line("", np.arange(1_000_000), values)]), encoding="ascii"), "|")
    assert "*" in rows[0] + rows[1]


def test_names_cannot_steer_the_terminal() -> None:
    name = "loss\x1b[2J\x07\u202e"
    chart = Chart(
        name, name, name, [Line(name, [0, 1], [0, 1])], [Band("b" + name, [0], [0], [1])], note=name
    )
    text = render(chart)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text


def test_an_estimate_lies_between_its_ends() -> None:
    text = render(
        Estimates(rows=[Estimate("lr", 1, 0, 2), Estimate("none", np.nan, 0, 1)], reference=-2),
        encoding="ascii",
    )
    first, second = text.splitlines()[:2]
    assert re.search(r"\| +-+o-+", first)
    assert "no value" in second


def test_a_bright_pixel_is_denser_than_a_dark_one() -> None:
    text = render(Image("", [[0.0, 1.0], [0.0, 1.0]]), encoding="ascii")
    assert text.splitlines()[0] == " @"
