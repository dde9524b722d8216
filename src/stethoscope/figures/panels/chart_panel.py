"""A chart as SVG: title, legend, marks and label above the axes, ticks and note below them.

Nothing but data is drawn between the axes: a legend or a label there would cover it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from stethoscope.figures import thinning, words
from stethoscope.figures.axis import Tick, ticks
from stethoscope.figures.chart import Band, Chart, Line, Numbers
from stethoscope.figures.chart_axes import axes_of, heights, stepped
from stethoscope.figures.colours import Slot, slot_of
from stethoscope.figures.panels.frame import Frame
from stethoscope.figures.panels.ink import dash, fill, stroke
from stethoscope.figures.panels.legend import legend, legend_height
from stethoscope.figures.panels.parts import (
    LEADING,
    NAME_SIZE,
    SIDE,
    TICK_SIZE,
    TITLE_SIZE,
    Room,
    element,
    height_of,
    number,
    paragraph,
    text,
)
from stethoscope.figures.panels.pointers import ABOVE, level_lines, levels, mark_height, marks

TICK_ROOM = 50.0  # pixels along the x axis for each tick; labels need it
TICK_HEIGHT = 34.0  # and along the y axis
RIM = 2.0  # how far beyond the axes lines are still seen
LABEL_ABOVE = 4.0  # more for the label of the y axis, which stands over a tick's number


def room(chart: Chart, width: float, body: float) -> Room:
    """The height that this chart asks for around axes that are `body` high."""
    wide = width - 2 * SIDE
    header = SIDE + height_of(chart.title, wide, TITLE_SIZE)
    header += legend_height(chart, wide) + mark_height(chart, _frame(chart, width, 0.0, body))
    header += TICK_SIZE * LEADING + LABEL_ABOVE if chart.y_label else 0.0
    footer = 2 * TICK_SIZE * LEADING if chart.x_label else 1.2 * TICK_SIZE * LEADING
    footer += height_of(chart.note, wide) + (10.0 if chart.note else 0.0)
    return Room(header + ABOVE, body, footer + SIDE * 0.6)


def draw(chart: Chart, width: float, given: Room, slots: dict[str, Slot]) -> str:
    """The chart in a panel of that width, its axes at the heights given."""
    frame = _frame(chart, width, given.header, given.header + given.body)
    return "".join(
        [
            *_header(chart, width, frame, slots),
            *_axes(chart, frame),
            _data(chart, frame, slots),
            *levels(chart, frame),
            *marks(chart, frame),
            *_footer(chart, width, frame),
        ]
    )


def _frame(chart: Chart, width: float, top: float, bottom: float) -> Frame:
    x, y = axes_of(chart)
    labels = ticks(y, int((bottom - top) // TICK_HEIGHT))
    left = SIDE + max((words.width(tick.text, TICK_SIZE) for tick in labels), default=0.0) + 8.0
    behind = max(
        (words.width(line, TICK_SIZE) for level in chart.levels for line in level_lines(level)), default=0.0
    )
    return Frame(left, width - SIDE - (behind + 6.0 if behind else 4.0), top, bottom, x, y)


# --- above the axes


def _header(chart: Chart, width: float, frame: Frame, slots: dict[str, Slot]) -> Iterator[str]:
    wide = width - 2 * SIDE
    yield paragraph(chart.title, SIDE, SIDE * 0.6, wide, TITLE_SIZE, "ink", strong=True)
    top = SIDE * 0.6 + height_of(chart.title, wide, TITLE_SIZE) + 4.0
    yield from legend(chart, top, wide, slots)
    if chart.y_label:
        above = words.shortened(chart.y_label, TICK_SIZE, wide)
        yield text(above, SIDE, frame.top - ABOVE - LABEL_ABOVE - mark_height(chart, frame))


# --- the axes


def _axes(chart: Chart, frame: Frame) -> Iterator[str]:
    for tick in ticks(frame.y, int(frame.height // TICK_HEIGHT)):
        yield from _y_tick(tick, frame)
    for tick in _x_ticks(frame):
        yield from _x_tick(tick, frame)
    yield element(
        "path", d=f"M{number(frame.left)} {number(frame.bottom)}h{number(frame.width)}", class_="st-axis"
    )
    if not any(np.isfinite(frame.y.share(part)).any() for part in heights(chart)):
        middle = (frame.left + frame.right) / 2, (frame.top + frame.bottom) / 2
        yield text("no value that can be drawn", *middle, NAME_SIZE, anchor="middle")


def _y_tick(tick: Tick, frame: Frame) -> Iterator[str]:
    y = frame.bottom - frame.y.at(tick.value) * frame.height
    if tick.text:
        yield element("path", d=f"M{number(frame.left)} {number(y)}h{number(frame.width)}", class_="st-grid")
        yield text(tick.text, frame.left - 6, y + TICK_SIZE * 0.35, anchor="end")
    else:
        yield element("path", d=f"M{number(frame.left - 3)} {number(y)}h3", class_="st-axis")


def _x_ticks(frame: Frame) -> list[Tick]:
    """The ticks, fewer where their texts would touch."""
    for most in range(max(int(frame.width // TICK_ROOM), 1), 0, -1):
        found = ticks(frame.x, most)
        named = [tick for tick in found if tick.text]
        ends = [
            (frame.x.at(tick.value) * frame.width, words.width(tick.text, TICK_SIZE) / 2 + 4)
            for tick in named
        ]
        if all(b - a >= half + other for (a, half), (b, other) in pairwise(ends)):
            return found
    return found


def _x_tick(tick: Tick, frame: Frame) -> Iterator[str]:
    x = frame.left + frame.x.at(tick.value) * frame.width
    yield element("path", d=f"M{number(x)} {number(frame.bottom)}v{5 if tick.text else 3}", class_="st-axis")
    if tick.text:
        half = words.width(tick.text, TICK_SIZE) / 2
        inside = min(x, frame.right + SIDE - half)
        yield text(tick.text, inside, frame.bottom + TICK_SIZE * 1.5, anchor="middle")


# --- the data


def _data(chart: Chart, frame: Frame, slots: dict[str, Slot]) -> str:
    """Bands below lines, in an inner picture that cuts off what lies beyond the axes.

    It is a little larger than they are: a line along the frame is as thick as any other.
    """
    drawn = [_band(band, frame, slot_of(band, slots)) for band in chart.bands]
    drawn += [_line(line, frame, slot_of(line, slots)) for line in chart.lines]
    inside = "".join(drawn)
    wide, high = frame.width + 2 * RIM, frame.height + 2 * RIM
    box = f"{number(-RIM)} {number(-RIM)} {number(wide)} {number(high)}"
    return element("svg", inside, x=frame.left - RIM, y=frame.top - RIM, width=wide, height=high, viewBox=box)


def _band(band: Band, frame: Frame, slot: Slot) -> str:
    # Below the lowest value of a logarithmic axis there is still area: down to the frame.
    low = np.where(band.low > 0, band.low, frame.y.low) if frame.y.log else band.low
    parts = thinning.band_parts(
        frame.across(band.x), frame.down(low), frame.down(band.high), int(frame.width)
    )
    outline = "".join(_outline(x, low, high) for x, low, high in parts)
    return element("path", d=outline, class_=f"st-area {fill(slot)}") if outline else ""


def _outline(x: Numbers, low: Numbers, high: Numbers) -> str:
    there = _points(x, high)
    back = _points(x[::-1], low[::-1])
    return f"M{there}L{back}Z"


def _line(line: Line, frame: Frame, slot: Slot) -> str:
    x, y = stepped(line) if line.style == "steps" else (line.x, line.y)
    across, down = frame.across(x), frame.down(y)
    if line.style == "dots":
        kept = thinning.dots(across, down)
        return _dots(across[kept], down[kept], slot)
    parts = thinning.line_parts(across, down, int(frame.width))
    alone = [part[0] for part in parts if len(part) == 1]
    joined = "".join(f"M{_points(across[part], down[part])}" for part in parts if len(part) > 1)
    path = element("path", d=joined, class_=stroke(slot), stroke_dasharray=dash(line, slot)) if joined else ""
    # A point between two gaps has no line to be seen by.
    return path + _dots(across[alone], down[alone], slot)


def _dots(x: Numbers, y: Numbers, slot: Slot) -> str:
    # A circle drawn as a line of no length with round ends: a tenth of the letters of a circle element.
    if len(x) == 0:
        return ""
    places = "".join(f"M{number(a)} {number(b)}h0" for a, b in zip(x.tolist(), y.tolist(), strict=True))
    return element("path", d=places, class_=f"st-dots {stroke(slot)}")


def _points(x: Numbers, y: Numbers) -> str:
    return " ".join(f"{number(a)} {number(b)}" for a, b in zip(x.tolist(), y.tolist(), strict=True))


# --- below the axes


def _footer(chart: Chart, width: float, frame: Frame) -> Iterator[str]:
    below = frame.bottom + TICK_SIZE * LEADING * (2 if chart.x_label else 1.2)
    if chart.x_label:
        label = words.shortened(chart.x_label, TICK_SIZE, width - 2 * SIDE)
        middle = (frame.left + frame.right) / 2
        half = words.width(label, TICK_SIZE) / 2
        inside = min(max(middle, SIDE + half), width - SIDE - half)
        yield text(label, inside, below + TICK_SIZE * 0.5, anchor="middle")
    if chart.note:
        yield paragraph(chart.note, SIDE, below + 10.0 + TICK_SIZE * 0.3, width - 2 * SIDE)
