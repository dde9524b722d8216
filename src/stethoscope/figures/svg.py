"""A picture as SVG text that needs nothing else: no script, no font, no network.

It follows the reader's light or dark screen, says what it shows to who cannot see it, and the same drawing
always gives the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from stethoscope.figures import words
from stethoscope.figures.axis import written
from stethoscope.figures.chart import Chart, Drawing, Estimates, Figure, Image, Line, Panel
from stethoscope.figures.colours import DARK, LIGHT, Colours, Slot, Theme, slots
from stethoscope.figures.panels import chart_panel, estimates_panel, image_panel
from stethoscope.figures.panels.parts import SIDE, Room, element, height_of, number, paragraph

FONTS = "Roboto, system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"
FIGURE_TITLE, CAPTION = 18.0, 13.0  # font sizes

# Of one panel, by how many stand in a row.
WIDTHS = {1: 720.0, 2: 500.0, 3: 380.0, 4: 300.0}
BODIES = {1: 320.0, 2: 250.0, 3: 210.0, 4: 180.0}  # the height of its axes
IMAGE_WIDTHS = {1: 420.0, 2: 320.0, 3: 260.0, 4: 220.0}  # where all panels are images
MOST_COLUMNS = 4

_Laid = tuple[Panel, float, float, Room]  # a panel, its left, its top and its room


def render(drawing: Drawing, theme: Theme = "auto", styled: bool = True) -> str:
    """The drawing as the text of an SVG file; without its style it is for a page that has `style` itself."""
    figure = drawing if isinstance(drawing, Figure) else Figure(panels=(drawing,))
    columns = _columns(figure)
    width = _panel_width(figure, columns)
    whole = width * columns
    top = SIDE * 0.6 + height_of(figure.title, whole - 2 * SIDE, FIGURE_TITLE) if figure.title else 0.0
    laid = list(_laid(figure, columns, width, top))
    bottom = max((y + room.height for _, _, y, room in laid), default=top + SIDE)
    below = height_of(figure.caption, whole - 2 * SIDE, CAPTION) + SIDE if figure.caption else 0.0
    height = math.ceil(bottom + below)
    body = "".join(
        [
            element("style", style(theme)) if styled else "",
            element("rect", width=whole, height=height, class_="st-background"),
            paragraph(figure.title, SIDE, SIDE * 0.6, whole - 2 * SIDE, FIGURE_TITLE, "ink", strong=True),
            *_drawn(laid, width),
            paragraph(figure.caption, SIDE, bottom, whole - 2 * SIDE, CAPTION),
        ]
    )
    return _file(drawing, body, whole, height)


def _columns(figure: Figure) -> int:
    count = max(len(figure.panels), 1)
    if figure.columns is not None:
        return min(max(figure.columns, 1), MOST_COLUMNS, count)
    if all(isinstance(panel, Image) for panel in figure.panels):
        return min(count, MOST_COLUMNS)
    return {1: 1, 2: 2, 4: 2}.get(count, 3)


def _panel_width(figure: Figure, columns: int) -> float:
    images = bool(figure.panels) and all(isinstance(panel, Image) for panel in figure.panels)
    return (IMAGE_WIDTHS if images else WIDTHS)[columns]


def _laid(figure: Figure, columns: int, width: float, top: float) -> Iterator[_Laid]:
    """Every panel with its place; those of one row have one height, and axes that are level."""
    for first in range(0, len(figure.panels), columns):
        row = figure.panels[first : first + columns]
        rooms = [_room(panel, width, BODIES[columns], len(row) > 1) for panel in row]
        if any(isinstance(panel, Image) for panel in row) and len(row) > 1:
            rooms = [_room(panel, width, max(room.body for room in rooms), True) for panel in row]
        shared = Room(
            *(max(part) for part in zip(*((r.header, r.body, r.footer) for r in rooms), strict=True))
        )
        for index, panel in enumerate(row):
            yield panel, index * width, top, shared
        top += shared.height


def _room(panel: Panel, width: float, body: float, beside_others: bool) -> Room:
    if isinstance(panel, Chart):
        return chart_panel.room(panel, width, body)
    if isinstance(panel, Estimates):
        return estimates_panel.room(panel, width, body if beside_others else 0.0)
    return image_panel.room(panel, width, 0.0)


def _drawn(laid: list[_Laid], width: float) -> Iterator[str]:
    charts = [panel for panel, *_ in laid if isinstance(panel, Chart)]
    colours = dict(zip(map(id, charts), slots(charts), strict=True))
    for panel, x, y, room in laid:
        inner = _panel(panel, width, room, colours.get(id(panel), {}))
        yield element("g", inner, transform=f"translate({number(x)} {number(y)})")


def _panel(panel: Panel, width: float, room: Room, given: dict[str, Slot]) -> str:
    if isinstance(panel, Chart):
        return chart_panel.draw(panel, width, room, given)
    if isinstance(panel, Estimates):
        return estimates_panel.draw(panel, width, room)
    return image_panel.draw(panel, width, room)


def _file(drawing: Drawing, body: str, width: float, height: float) -> str:
    title = words.escaped(drawing.title) or "Picture"
    told = f"<title>{title}</title><desc>{words.escaped(description(drawing))}</desc>"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{number(width)}" height="{number(height)}" '
        f'viewBox="0 0 {number(width)} {number(height)}" role="img" font-family="{words.escaped(FONTS)}">'
        f"{told}{body}</svg>\n"
    )


# --- for who cannot see it


def description(drawing: Drawing) -> str:
    """What the drawing shows, in sentences."""
    if isinstance(drawing, Figure):
        parts = [f"{panel.title or 'A panel'}: {description(panel)}" for panel in drawing.panels]
        return " ".join([*parts, drawing.caption]).strip()
    if isinstance(drawing, Image):
        rows, columns, _ = drawing.pixels.shape
        return f"An image of {columns} by {rows} pixels. {drawing.note}".strip()
    if isinstance(drawing, Estimates):
        rows_told = [f"{row.name}: {_interval(row.value, row.low, row.high)}" for row in drawing.rows]
        return f"{'; '.join(rows_told) or 'No estimate'}. {drawing.note}".strip()
    axes = f"A chart of {drawing.y_label or 'y'} over {drawing.x_label or 'x'}."
    lines = [f"{line.name or 'A line'} {_course(line)}." for line in drawing.lines]
    marks = [f"{mark.text} at {written(mark.x)}." for mark in drawing.marks if mark.text]
    levels = [f"{level.text} is {written(level.y)}." for level in drawing.levels if level.text]
    return " ".join([axes, *lines, *marks, *levels, drawing.note]).strip()


def _course(line: Line) -> str:
    finite = line.y[np.isfinite(line.y)]
    if len(finite) == 0:
        return "has no finite value"
    low, high = written(float(finite.min())), written(float(finite.max()))
    return f"goes from {written(float(finite[0]))} to {written(float(finite[-1]))}, between {low} and {high}"


def _interval(value: float, low: float, high: float) -> str:
    return f"{written(value)} ({written(low)} to {written(high)})"


# --- colours


def style(theme: Theme) -> str:
    """The rules that all pictures of this theme are drawn by."""
    always = ".st-line{fill:none;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}"
    always += ".st-dots{stroke-width:4.4;stroke-linecap:round}.st-big{stroke-width:8}"
    always += ".st-halo{stroke-width:5;stroke-linejoin:round;paint-order:stroke}"
    always += ".st-area{stroke:none}"
    always += ".st-axis,.st-grid,.st-mark,.st-frame{fill:none;stroke-width:1}.st-mark{stroke-dasharray:4 3}"
    if theme == "auto":
        return f"{always}{_rules(LIGHT)}@media (prefers-color-scheme:dark){{{_rules(DARK)}}}"
    return always + _rules(DARK if theme == "dark" else LIGHT)


def _rules(colours: Colours) -> str:
    fixed = {
        ".st-background": f"fill:{colours.background}",
        ".st-ink": f"fill:{colours.ink}",
        ".st-faint": f"fill:{colours.faint_ink}",
        ".st-halo": f"stroke:{colours.background}",
        ".st-axis,.st-frame": f"stroke:{colours.axis}",
        ".st-mark": f"stroke:{colours.faint_ink}",
        ".st-grid": f"stroke:{colours.grid}",
        ".st-area": f"fill-opacity:{colours.area:g}",
        ".st-muted": f"stroke:{colours.muted}",
        ".st-muted-fill": f"fill:{colours.muted}",
    }
    lines = {f".st-c{index}": f"stroke:{colour}" for index, colour in enumerate(colours.lines)}
    areas = {f".st-f{index}": f"fill:{colour}" for index, colour in enumerate(colours.lines)}
    return "".join(f"{names}{{{rule}}}" for names, rule in {**fixed, **lines, **areas}.items())
