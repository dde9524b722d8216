from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from stethoscope.figures import png, svg
from stethoscope.figures.chart import Chart, Figure, Image, Line
from stethoscope.figures.colours import DARK, LIGHT
from stethoscope.figures.panels.image_panel import encoded


def pixels(content: bytes) -> NDArray[np.uint8]:
    with Pillow.open(io.BytesIO(content)) as opened:
        return np.asarray(opened.convert("RGB"))


def of(colour: str) -> list[int]:
    return [int(colour[place : place + 2], 16) for place in (1, 3, 5)]


def near(image: NDArray[np.uint8], colour: str) -> NDArray[np.bool_]:
    return np.asarray((np.abs(image.astype(int) - of(colour)) <= 3).all(axis=2))


def test_it_is_as_large_as_the_svg_times_the_scale() -> None:
    chart = Chart("Loss", lines=[Line("loss", [0, 1], [0, 1])])
    text = svg.render(chart)
    height, width, _ = pixels(png.render(chart, scale=2)).shape
    assert f'width="{width // 2}" height="{height // 2}"' in text


def test_text_shows_without_any_font_of_the_machine() -> None:
    image = pixels(png.render(Chart("Loss of the run"), scale=1))
    title = near(image[:40, :160], LIGHT.ink)
    assert title.sum() > 60
    assert not near(pixels(png.render(Chart(""), scale=1))[:20], LIGHT.ink).any()


def test_letters_are_shapes_and_not_boxes() -> None:
    shapes = {
        letter: pixels(png.render(Chart(letter * 8), scale=1))[:40].tobytes()
        for letter in "aimW\u03c3\u2264\u00e9"
    }
    assert len(set(shapes.values())) == len(shapes)


def test_a_line_is_drawn_in_its_colour_where_it_lies() -> None:
    chart = Chart(lines=[Line("", [0, 1], [0, 0]), Line("x", [0], [1])], y_limits=(-1, 1))
    drawn = near(pixels(png.render(chart, scale=1)), LIGHT.lines[0])
    rows = np.flatnonzero(drawn.sum(axis=1) > 300)
    assert 1 <= len(rows) <= 3


def test_light_and_dark_differ_in_their_background() -> None:
    chart = Chart("Loss", lines=[Line("loss", [0, 1], [0, 1])])
    assert pixels(png.render(chart, theme="dark"))[1, 1].tolist() == of(DARK.background)
    assert pixels(png.render(chart, theme="auto"))[1, 1].tolist() == of(LIGHT.background)


def test_the_pixels_of_an_image_arrive_unblurred() -> None:
    red = np.zeros((4, 4, 3), np.uint8)
    red[::2, ::2] = (255, 0, 0)
    image = pixels(png.render(Figure(panels=[Image("", red)]), scale=1))
    exact = near(image, "#FF0000").sum() + near(image, "#000000").sum()
    assert exact > 0.9 * 392**2


def test_an_embedded_file_is_what_another_library_reads() -> None:
    given = np.random.default_rng(0).integers(0, 256, (7, 5, 3)).astype(np.uint8)
    assert pixels(encoded(given)).tolist() == given.tolist()


def test_a_missing_package_is_named_with_the_line_that_installs_it() -> None:
    program = (
        "import sys; sys.modules['resvg_py'] = None\n"
        "from stethoscope.errors import MissingExtra\n"
        "from stethoscope.figures import png\n"
        "from stethoscope.figures.chart import Chart\n"
        "try: png.render(Chart())\n"
        "except MissingExtra as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "PNG pictures need resvg_py: pip install 'stethoscope[pictures]'\n"
