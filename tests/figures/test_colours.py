from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from stethoscope.figures.chart import Band, Chart, Line, Numbers
from stethoscope.figures.colours import BAD, DARK, GOOD, LIGHT, Colours, Slot, slots

TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.089])
# What people without one kind of cone see, in linear RGB (Machado, Oliveira and Fernandes 2009).
EYES = {
    "all cones": np.eye(3),
    "no red": np.array(
        [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    ),
    "no green": np.array(
        [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
    ),
    "no blue": np.array(
        [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]],
    ),
}
LEAST_DIFFERENCE = 12.0  # CIE76; about five of the smallest differences that can be seen


def linear(colour: str) -> Numbers:
    share = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def lab(light: Numbers) -> Numbers:
    x, y, z = np.cbrt(TO_XYZ @ np.clip(light, 0.001, 1) / WHITE)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one: str, other: str) -> float:
    dark, bright = sorted(float((TO_XYZ @ linear(colour))[1]) for colour in (one, other))
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_lines_stand_out_and_texts_can_be_read(colours: Colours) -> None:
    assert min(contrast(line, colours.background) for line in (*colours.lines, colours.muted)) >= 3
    assert min(contrast(ink, colours.background) for ink in (colours.ink, colours.faint_ink)) >= 4.5


@pytest.mark.parametrize("colours", [LIGHT, DARK])
@pytest.mark.parametrize("eyes", EYES)
def test_any_two_lines_differ_for_any_eyes(colours: Colours, eyes: str) -> None:
    seen = [lab(EYES[eyes] @ linear(colour)) for colour in colours.lines]
    assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) >= LEAST_DIFFERENCE


def line(name: str, **style: str) -> Line:
    return Line(name, [0], [0], **style)


def test_a_name_that_several_charts_share_has_one_colour() -> None:
    first, second = slots(
        [Chart(lines=[line("a"), line("b")]), Chart(lines=[line("c"), line("b"), line("d")])]
    )
    assert first["b"] == second["b"]
    assert len(set(second.values())) == 3
    assert len(set(first.values())) == 2


def test_tones_have_their_colours_and_the_others_keep_clear_of_them() -> None:
    chart = Chart(lines=[line("plain"), line("sick", tone="bad"), line("cured", tone="good"), line("more")])
    (given,) = slots([chart])
    assert (given["sick"], given["cured"]) == (Slot(BAD), Slot(GOOD))
    assert len(set(given.values())) == 4


def test_a_band_has_the_colour_of_its_line() -> None:
    (given,) = slots([Chart(lines=[line("x"), line("y")], bands=[Band("y", [0], [0], [1])])])
    assert list(given) == ["x", "y"]


def test_the_seventh_line_has_the_first_colour_in_another_turn() -> None:
    (given,) = slots([Chart(lines=[line(str(index)) for index in range(20)])])
    assert given["6"] == Slot(0, 1)
    assert len(set(given.values())) == 20
