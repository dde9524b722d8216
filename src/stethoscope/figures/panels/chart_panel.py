"""A chart as SVG: title, legend, marks and label above the axes, ticks and note below them.

Nothing but data is drawn between the axes: a legend or a label there would cover it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from stethoscope.figures import thinning, words
from stethoscope.figures.axis import Axis, Tick, ticks
from stethoscope.figures.chart import Band, Chart, Level, Line, Mark, Numbers
from stethoscope.figures.chart_axes import axes_of, heights, stepped
from stethoscope.figures.colours import Slot, slot_of
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

TICK_ROOM = 50.0  # pixels along the x axis for each tick; labels need it
TICK_HEIGHT = 34.0  # and along the y axis
SAMPLE = 22.0  # the length of line that a legend shows
GAP = 16.0  # between two names of a legend
LEVEL_ROOM = 92.0  # the widest text behind a level line; longer ones go over several lines
ROW = NAME_SIZE * 1.5  # of a legend
MARK_ROW = TICK_SIZE * LEADING
MOST_MARK_ROWS = 4  # above that many, texts that still collide are left to the tooltip
DASHES = {"dashed": "7 4", "dotted": "0.1 4.5"}
LATER_DASHES = ("10 3 2 3", "10 3 2 3 2 3", "16 4")  # when all colours are used up: once, twice, more often
RIM = 2.0  # how far beyond the axes lines are still seen
LABEL_ABOVE = 4.0  # more for the label of the y axis, which stands over a tick's number
ABOVE = 10.0  # between the axes and the first text above them


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where the axes are: pixels of the panel, and what they span."""

    left: float
    right: float
    top: float
    bottom: float
    x: Axis
    y: Axis

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top

    def across(self, values: Numbers) -> Numbers:
        return self.x.share(values) * self.width

    def down(self, values: Numbers) -> Numbers:
        return (1 - self.y.share(values)) * self.height


def room(chart: Chart, width: float, body: float) -> Room:
    """The height that this chart asks for around axes that are `body` high."""
    wide = width - 2 * SIDE
    header = SIDE + height_of(chart.title, wide, TITLE_SIZE)
    header += ROW * len(_legend_rows(chart, wide))
    frame = _frame(chart, width, 0.0, body)
    rows = [row for _, row, _ in _placed_marks(chart, frame)]
    header += MARK_ROW * (max(rows) + 1 if rows else 0)
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
            *_levels(chart, frame),
            *_marks(chart, frame),
            *_footer(chart, width, frame),
        ]
    )


def _frame(chart: Chart, width: float, top: float, bottom: float) -> _Frame:
    x, y = axes_of(chart)
    labels = ticks(y, int((bottom - top) // TICK_HEIGHT))
    left = SIDE + max((words.width(tick.text, TICK_SIZE) for tick in labels), default=0.0) + 8.0
    behind = max(
        (words.width(line, TICK_SIZE) for level in chart.levels for line in _lines(level)), default=0.0
    )
    return _Frame(left, width - SIDE - (behind + 6.0 if behind else 4.0), top, bottom, x, y)


# --- above the axes


def _header(chart: Chart, width: float, frame: _Frame, slots: dict[str, Slot]) -> Iterator[str]:
    wide = width - 2 * SIDE
    yield paragraph(chart.title, SIDE, SIDE * 0.6, wide, TITLE_SIZE, "ink", strong=True)
    top = SIDE * 0.6 + height_of(chart.title, wide, TITLE_SIZE) + 4.0
    for index, row in enumerate(_legend_rows(chart, wide)):
        left = SIDE
        for drawn in row:
            yield _sample(drawn, left, top + (index + 0.5) * ROW, slot_of(drawn, slots))
            yield text(_name(drawn, wide), left + SAMPLE + 6, top + (index + 0.5) * ROW + 4, NAME_SIZE, "ink")
            left += _entry_width(drawn, wide)
    if chart.y_label:
        above = words.shortened(chart.y_label, TICK_SIZE, wide)
        yield text(above, SIDE, frame.top - ABOVE - LABEL_ABOVE - MARK_ROW * _mark_rows(chart, frame))


def _legend_rows(chart: Chart, widest: float) -> list[list[Line | Band]]:
    """What is named, in rows that fit. A band that goes with a line is not named again."""
    rows: list[list[Line | Band]] = []
    used = 0.0
    for drawn in _named(chart):
        wide = _entry_width(drawn, widest)
        if not rows or used + wide - GAP > widest:
            rows.append([])
            used = 0.0
        rows[-1].append(drawn)
        used += wide
    return rows


def _named(chart: Chart) -> Iterator[Line | Band]:
    seen = {""}
    everything: list[Line | Band] = [*chart.lines, *chart.bands]
    for drawn in everything:
        if drawn.name not in seen:
            seen.add(drawn.name)
            yield drawn


def _entry_width(drawn: Line | Band, widest: float) -> float:
    return SAMPLE + 6 + words.width(_name(drawn, widest), NAME_SIZE) + GAP


def _name(drawn: Line | Band, widest: float) -> str:
    return words.shortened(drawn.name, NAME_SIZE, widest - SAMPLE - 6)


def _sample(drawn: Line | Band, x: float, y: float, slot: Slot) -> str:
    if isinstance(drawn, Band):
        return element("rect", x=x, y=y - 5, width=SAMPLE, height=10.0, class_=f"st-area {_fill(slot)}")
    if drawn.style == "dots":
        return element("circle", cx=x + SAMPLE / 2, cy=y, r=3.2, class_=_fill(slot))
    path = f"M{number(x)} {number(y)}h{number(SAMPLE)}"
    return element("path", d=path, class_=_stroke(slot), stroke_dasharray=_dash(drawn, slot))


# --- the axes


def _axes(chart: Chart, frame: _Frame) -> Iterator[str]:
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


def _y_tick(tick: Tick, frame: _Frame) -> Iterator[str]:
    y = frame.bottom - frame.y.at(tick.value) * frame.height
    if tick.text:
        yield element("path", d=f"M{number(frame.left)} {number(y)}h{number(frame.width)}", class_="st-grid")
        yield text(tick.text, frame.left - 6, y + TICK_SIZE * 0.35, anchor="end")
    else:
        yield element("path", d=f"M{number(frame.left - 3)} {number(y)}h3", class_="st-axis")


def _x_ticks(frame: _Frame) -> list[Tick]:
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


def _x_tick(tick: Tick, frame: _Frame) -> Iterator[str]:
    x = frame.left + frame.x.at(tick.value) * frame.width
    yield element("path", d=f"M{number(x)} {number(frame.bottom)}v{5 if tick.text else 3}", class_="st-axis")
    if tick.text:
        half = words.width(tick.text, TICK_SIZE) / 2
        inside = min(x, frame.right + SIDE - half)
        yield text(tick.text, inside, frame.bottom + TICK_SIZE * 1.5, anchor="middle")


# --- the data


def _data(chart: Chart, frame: _Frame, slots: dict[str, Slot]) -> str:
    """Bands below lines, in an inner picture that cuts off what lies beyond the axes.

    It is a little larger than they are: a line along the frame is as thick as any other.
    """
    drawn = [_band(band, frame, slot_of(band, slots)) for band in chart.bands]
    drawn += [_line(line, frame, slot_of(line, slots)) for line in chart.lines]
    inside = "".join(drawn)
    wide, high = frame.width + 2 * RIM, frame.height + 2 * RIM
    box = f"{number(-RIM)} {number(-RIM)} {number(wide)} {number(high)}"
    return element("svg", inside, x=frame.left - RIM, y=frame.top - RIM, width=wide, height=high, viewBox=box)


def _band(band: Band, frame: _Frame, slot: Slot) -> str:
    # Below the lowest value of a logarithmic axis there is still area: down to the frame.
    low = np.where(band.low > 0, band.low, frame.y.low) if frame.y.log else band.low
    parts = thinning.band_parts(
        frame.across(band.x), frame.down(low), frame.down(band.high), int(frame.width)
    )
    outline = "".join(_outline(x, low, high) for x, low, high in parts)
    return element("path", d=outline, class_=f"st-area {_fill(slot)}") if outline else ""


def _outline(x: Numbers, low: Numbers, high: Numbers) -> str:
    there = _points(x, high)
    back = _points(x[::-1], low[::-1])
    return f"M{there}L{back}Z"


def _line(line: Line, frame: _Frame, slot: Slot) -> str:
    x, y = stepped(line) if line.style == "steps" else (line.x, line.y)
    across, down = frame.across(x), frame.down(y)
    if line.style == "dots":
        kept = thinning.dots(across, down)
        return _dots(across[kept], down[kept], slot)
    parts = thinning.line_parts(across, down, int(frame.width))
    alone = [part[0] for part in parts if len(part) == 1]
    joined = "".join(f"M{_points(across[part], down[part])}" for part in parts if len(part) > 1)
    path = (
        element("path", d=joined, class_=_stroke(slot), stroke_dasharray=_dash(line, slot)) if joined else ""
    )
    # A point between two gaps has no line to be seen by.
    return path + _dots(across[alone], down[alone], slot)


def _dots(x: Numbers, y: Numbers, slot: Slot) -> str:
    # A circle drawn as a line of no length with round ends: a tenth of the letters of a circle element.
    if len(x) == 0:
        return ""
    places = "".join(f"M{number(a)} {number(b)}h0" for a, b in zip(x.tolist(), y.tolist(), strict=True))
    return element("path", d=places, class_=f"st-dots {_stroke(slot)}")


def _points(x: Numbers, y: Numbers) -> str:
    return " ".join(f"{number(a)} {number(b)}" for a, b in zip(x.tolist(), y.tolist(), strict=True))


def _stroke(slot: Slot) -> str:
    return "st-line st-muted" if slot.colour < 0 else f"st-line st-c{slot.colour}"


def _fill(slot: Slot) -> str:
    return "st-muted-fill" if slot.colour < 0 else f"st-f{slot.colour}"


def _dash(line: Line, slot: Slot) -> str | None:
    if slot.turn:
        return LATER_DASHES[min(slot.turn, len(LATER_DASHES)) - 1]
    return DASHES.get(line.style)


# --- marks and levels


def _marks(chart: Chart, frame: _Frame) -> Iterator[str]:
    """Upright lines first, so that none crosses a text."""
    texts = []
    for mark, row, left in _placed_marks(chart, frame):
        x = frame.left + frame.x.at(mark.x) * frame.width
        above = ABOVE + MARK_ROW * row if mark.text else 0.0
        yield element(
            "path",
            f"<title>{words.escaped(mark.text)}</title>" if mark.text else "",
            d=f"M{number(x)} {number(frame.bottom)}V{number(frame.top - above + 3)}",
            class_="st-mark",
        )
        if mark.text and row < MOST_MARK_ROWS:
            texts.append(text(mark.text, left, frame.top - above, halo=True))
    yield from texts


def _placed_marks(chart: Chart, frame: _Frame) -> list[tuple[Mark, int, float]]:
    """Every mark that can be seen, the row of its text, counted upwards, and where the text begins.

    From right to left, a text that would run into one to its right goes one row higher: so no mark's line
    crosses another's text.
    """
    shown = [mark for mark in chart.marks if 0 <= frame.x.at(mark.x) <= 1]
    placed: list[tuple[Mark, int, float]] = []
    lefts: list[tuple[float, int]] = []
    for mark in sorted(shown, key=lambda mark: -mark.x):
        if not mark.text:
            placed.append((mark, -1, 0.0))
            continue
        wide = words.width(mark.text, TICK_SIZE)
        left = min(frame.left + frame.x.at(mark.x) * frame.width - 4, frame.right + SIDE - wide)
        row = 1 + max((row for begin, row in lefts if left + wide + 6 > begin), default=-1)
        lefts.append((left, row))
        placed.append((mark, min(row, MOST_MARK_ROWS), left))
    return placed


def _mark_rows(chart: Chart, frame: _Frame) -> int:
    return max((min(row, MOST_MARK_ROWS - 1) + 1 for _, row, _ in _placed_marks(chart, frame)), default=0)


def _levels(chart: Chart, frame: _Frame) -> Iterator[str]:
    """Level lines; their texts stand behind the axes and keep clear of each other."""
    free = frame.top - TICK_SIZE
    for level in sorted(chart.levels, key=lambda level: -level.y):
        share = frame.y.at(level.y)
        if not 0 <= share <= 1:
            continue
        y = frame.bottom - share * frame.height
        yield element("path", d=f"M{number(frame.left)} {number(y)}h{number(frame.width)}", class_="st-mark")
        first = max(y + TICK_SIZE * 0.35 - (len(_lines(level)) - 1) * TICK_SIZE * 0.6, free + TICK_SIZE * 1.2)
        for index, line in enumerate(_lines(level)):
            free = first + index * TICK_SIZE * 1.2
            yield text(line, frame.right + 6, free)


def _lines(level: Level) -> list[str]:
    return words.wrapped(level.text, TICK_SIZE, LEVEL_ROOM)


# --- below the axes


def _footer(chart: Chart, width: float, frame: _Frame) -> Iterator[str]:
    below = frame.bottom + TICK_SIZE * LEADING * (2 if chart.x_label else 1.2)
    if chart.x_label:
        label = words.shortened(chart.x_label, TICK_SIZE, width - 2 * SIDE)
        middle = (frame.left + frame.right) / 2
        half = words.width(label, TICK_SIZE) / 2
        inside = min(max(middle, SIDE + half), width - SIDE - half)
        yield text(label, inside, below + TICK_SIZE * 0.5, anchor="middle")
    if chart.note:
        yield paragraph(chart.note, SIDE, below + 10.0 + TICK_SIZE * 0.3, width - 2 * SIDE)
