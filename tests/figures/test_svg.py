from __future__ import annotations

import re
from itertools import product
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stethoscope.figures.chart import (
    Band,
    Chart,
    Drawing,
    Estimate,
    Estimates,
    Figure,
    Image,
    Level,
    Line,
    Mark,
)
from stethoscope.figures.svg import render

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</title><script>alert(1)</script> \x00\x1b[31m \u202e & \" ' \ud800"
STEPS = np.arange(100)


def parsed(drawing: Drawing) -> ElementTree.Element:
    return ElementTree.fromstring(render(drawing))


def data_of(root: ElementTree.Element) -> ElementTree.Element:
    """The inner picture that holds the lines of a chart."""
    return next(found for found in root.iter(f"{SVG}svg") if found is not root)


def size_of(data: ElementTree.Element) -> tuple[float, float]:
    """How wide and high the axes are, without the rim around them."""
    left, top, wide, high = map(float, data.get("viewBox", "").split())
    return wide + 2 * left, high + 2 * top


def texts(root: ElementTree.Element) -> list[str]:
    return [found.text or "" for found in root.iter(f"{SVG}text")]


def points(path: ElementTree.Element) -> list[list[tuple[float, float]]]:
    """The pieces of a path, each a list of points."""
    pieces = []
    for piece in path.get("d", "").split("M")[1:]:
        numbers = [float(number) for number in re.findall(r"-?[\d.]+", piece)]
        pieces.append(list(zip(numbers[::2], numbers[1::2], strict=True)))
    return pieces


def everything() -> Figure:
    chart = Chart(
        "Loss",
        "step",
        "loss",
        lines=[
            Line("sick", STEPS, np.exp(STEPS / 20), tone="bad"),
            Line("cured", STEPS, np.exp(-STEPS / 20)),
        ],
        bands=[Band("cured", STEPS, np.exp(-STEPS / 10), np.exp(-STEPS / 30))],
        marks=[Mark(40, "rewind"), Mark(41, "again")],
        levels=[Level(1.0, "chance")],
        log_y=True,
        note="The cured run falls.",
    )
    estimates = Estimates("Effect", "dB", [Estimate("lr", 0.5, 0.1, 0.9)], reference=0, margin=(-0.1, 0.1))
    return Figure("All", [chart, Image("Noise", np.eye(8)), estimates], caption="Everything.")


def test_a_line_goes_where_its_values_say() -> None:
    chart = Chart(lines=[Line("", [0, 5, 10], [0, 1, 0.25])], x_limits=(0, 10), y_limits=(0, 1))
    data = data_of(parsed(chart))
    wide, high = size_of(data)
    (piece,) = points(data[0])
    assert np.array(piece) == pytest.approx(
        np.array([(0, high), (wide / 2, 0), (wide, 0.75 * high)]), abs=0.11
    )


def test_a_logarithmic_axis_spaces_factors_equally() -> None:
    chart = Chart(lines=[Line("", [1, 10, 100], [1, 100, 1e4])], log_x=True, log_y=True)
    (piece,) = points(data_of(parsed(chart))[0])
    (a, b, c) = np.array(piece)
    assert b - a == pytest.approx(c - b, abs=0.11)


def test_steps_hold_a_value_until_the_next_place() -> None:
    chart = Chart(lines=[Line("", [0, 1, 2], [0, 1, 0], style="steps")])
    (piece,) = points(data_of(parsed(chart))[0])
    heights = [y for _, y in piece]
    assert len(piece) == 5
    assert heights[0] == heights[1]
    assert heights[2] == heights[3] != heights[1]


def test_what_is_not_finite_is_a_gap_and_a_lonely_point_a_dot() -> None:
    values = [1.0, 2.0, np.nan, 3.0, -np.inf, 4.0, 5.0]
    data = data_of(parsed(Chart(lines=[Line("loss", range(7), values)])))
    line, dot = data
    assert [len(piece) for piece in points(line)] == [2, 2]
    assert "st-dots" in dot.get("class", "")


def test_a_million_points_stay_small_and_keep_their_spike() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(0, 0.01, 1_000_000)
    values[765_432] = 1.0
    text = render(Chart(lines=[Line("loss", np.arange(len(values)), values)], y_limits=(-0.1, 1)))
    assert len(text) < 60_000
    data = data_of(ElementTree.fromstring(text))
    (piece,) = points(data[0])
    place, height = min(piece, key=lambda point: point[1])
    assert height == pytest.approx(0, abs=0.11)
    assert place / size_of(data)[0] == pytest.approx(0.765432, abs=0.002)


def test_no_text_lies_over_the_data() -> None:
    lines = [Line(f"a rather long name, number {index}", STEPS, STEPS * index) for index in range(9)]
    marks = [Mark(place, f"something happens at {place}") for place in range(0, 100, 7)]
    levels = [Level(y, "a level with a long name") for y in (1, 2, 3, 400)]
    root = parsed(Chart("T" * 200, "step", "loss", lines, marks=marks, levels=levels, note="n " * 300))
    data = data_of(root)
    left, top, wide, high = (float(data.get(key, 0)) for key in ("x", "y", "width", "height"))
    for shown in root.iter(f"{SVG}text"):
        x, y = float(shown.get("x", 0)), float(shown.get("y", 0))
        assert not (left < x < left + wide and top < y < top + high), shown.text


def test_texts_keep_inside_the_picture() -> None:
    root = parsed(everything())
    wide, high = float(root.get("width", 0)), float(root.get("height", 0))
    for panel in root.iter(f"{SVG}g"):
        across, down = (float(number) for number in re.findall(r"[\d.]+", panel.get("transform", "")))
        for shown in panel.iter(f"{SVG}text"):
            assert 0 <= across + float(shown.get("x", 0)) <= wide
            assert 0 <= down + float(shown.get("y", 0)) <= high


def test_it_tells_what_it_shows_to_who_cannot_see() -> None:
    root = parsed(everything())
    title, told = root[0], root[1]
    assert (title.tag, title.text) == (f"{SVG}title", "All")
    assert told.tag == f"{SVG}desc"
    assert "sick goes from 1 to 141.2, between 1 and 141.2." in (told.text or "")
    assert "rewind at 40." in (told.text or "")
    assert "lr: 0.5 (0.1 to 0.9)" in (told.text or "")
    assert root.get("role") == "img"


def test_everything_that_is_named_is_written() -> None:
    shown = texts(parsed(everything()))
    for text in ("All", "Loss", "step", "loss", "sick", "cured", "rewind", "again", "chance", "Everything."):
        assert text in shown


def test_hostile_names_are_inert() -> None:
    line, band = Line(HOSTILE, [0, 1], [0, 1]), Band(HOSTILE + "b", [0, 1], [0, 1], [1, 2])
    chart = Chart(
        HOSTILE, HOSTILE, HOSTILE, [line], [band], [Mark(0.5, HOSTILE)], [Level(0.5, HOSTILE)], note=HOSTILE
    )
    estimates = Estimates(HOSTILE, HOSTILE, [Estimate(HOSTILE, 1, 0, 2, text=HOSTILE)], note=HOSTILE)
    root = parsed(Figure(HOSTILE, [chart, Image(HOSTILE, [[0.0]], HOSTILE), estimates], caption=HOSTILE))
    known = {"svg", "title", "desc", "style", "rect", "g", "text", "path", "image", "circle"}
    assert {found.tag.removeprefix(SVG) for found in root.iter()} <= known
    assert "\u202e" not in ElementTree.tostring(root, "unicode")


def test_the_same_drawing_gives_the_same_bytes() -> None:
    assert render(everything()) == render(everything())


def test_it_loads_nothing() -> None:
    text = render(everything()).replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|url\(|@import|<script|<foreignObject", text)
    assert set(re.findall(r'href="(.{5})', text)) == {"data:"}


def test_dark_and_light_are_both_there_or_the_one_that_is_asked_for() -> None:
    assert "prefers-color-scheme:dark" in render(everything())
    light, dark = (render(everything(), theme) for theme in ("light", "dark"))
    assert "prefers-color-scheme" not in light + dark
    assert light != dark


def test_a_legend_names_a_line_and_its_band_once() -> None:
    assert texts(parsed(everything())).count("cured") == 1


def test_an_estimate_without_an_interval_is_a_dot_alone() -> None:
    panel = parsed(Estimates(rows=[Estimate("a", 1, 1, 1), Estimate("b", 2, 1.5, 3)])).find(f"{SVG}g")
    assert panel is not None
    classes = [path.get("class", "") for path in panel.iter(f"{SVG}path")]
    assert sum("st-big" in name for name in classes) == 2
    assert sum(name.startswith("st-line") for name in classes) == 1


awkward = st.lists(
    st.sampled_from([0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 1e-300, 1e16, 1e16 + 2]),
    max_size=6,
)


@settings(max_examples=150, deadline=None)
@given(awkward, awkward, st.booleans(), st.booleans(), st.sampled_from(["solid", "steps", "dots"]))
def test_whatever_the_numbers_are_a_picture_comes_out(
    x: list[float], y: list[float], log_x: bool, log_y: bool, style: str
) -> None:
    count = min(len(x), len(y))
    x, y = x[:count], y[:count]
    places = [*x, np.nan, 0.5]
    chart = Chart(
        lines=[Line("a", x, y, style=style)],
        bands=[Band("b", x, y, y[::-1])],
        marks=[Mark(place, "m") for place in places],
        levels=[Level(place, "l") for place in places],
        log_x=log_x,
        log_y=log_y,
    )
    rows = [Estimate("e", *three) for three in zip(y, x, y, strict=True)]
    text = render(Figure(panels=[chart, Estimates(rows=rows, reference=0)]))
    ElementTree.fromstring(text)
    assert not re.search(r'(?:d|x|y|x1|cx|width|height)="[^"]*(?:nan|inf)', text)


@pytest.mark.parametrize(("count", "columns"), [*product((0, 1, 2, 3, 4, 5, 7), (None, 1, 2, 9))])
def test_any_number_of_panels_fits_the_grid(count: int, columns: int | None) -> None:
    panel = Chart("p", lines=[Line("a", [0, 1], [0, 1])])
    root = parsed(Figure("f", [panel] * count, columns=columns))
    wide, high = float(root.get("width", 0)), float(root.get("height", 0))
    places = [re.findall(r"[\d.]+", group.get("transform", "")) for group in root.iter(f"{SVG}g")]
    assert len({tuple(place) for place in places}) == count
    assert all(float(x) < wide and float(y) < high for x, y in places)
