"""Estimates as SVG: a name, an interval and a few words to each row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stethoscope.figures import words
from stethoscope.figures.axis import Axis, fitted, ticks
from stethoscope.figures.chart import Estimate, Estimates
from stethoscope.figures.colours import Slot, of_tone
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

LINE = NAME_SIZE * 1.25  # of a name that goes over several
BETWEEN = 10.0  # two rows
TICK_ROOM = 48.0
NAMES = 0.38  # of the panel's width, at most
WORDS = 0.26
DOT = 8.0
CAP = 4.0  # half the height of an interval's ends


@dataclass(frozen=True, slots=True)
class _Frame:
    left: float
    right: float
    top: float
    bottom: float
    axis: Axis

    def x(self, value: float) -> float:
        share = self.axis.at(value)
        return self.left + (min(max(share, 0.0), 1.0) if np.isfinite(share) else 0.5) * (
            self.right - self.left
        )


def room(panel: Estimates, width: float, body: float) -> Room:
    """The height that these rows ask for."""
    wide = width - 2 * SIDE
    header = SIDE + height_of(panel.title, wide, TITLE_SIZE) + 4.0
    footer = 1.2 * TICK_SIZE * LEADING + (TICK_SIZE * LEADING if panel.x_label else 0.0)
    footer += height_of(panel.note, wide) + (6.0 if panel.note else 0.0) + SIDE * 0.6
    return Room(header, max(body, _row_height(panel, width) * max(len(panel.rows), 1) + 6), footer)


def draw(panel: Estimates, width: float, given: Room) -> str:
    """The rows in a panel of that width."""
    frame = _frame(panel, width, given)
    return "".join(
        [
            paragraph(panel.title, SIDE, SIDE * 0.6, width - 2 * SIDE, TITLE_SIZE, "ink", strong=True),
            *_background(panel, frame),
            *_rows(panel, width, frame),
            *_footer(panel, width, frame),
        ]
    )


def _row_height(panel: Estimates, width: float) -> float:
    return LINE * max((len(_name_lines(row, width)) for row in panel.rows), default=1) + BETWEEN


def _name_lines(row: Estimate, width: float) -> list[str]:
    return words.wrapped(row.name, NAME_SIZE, NAMES * width)


def _frame(panel: Estimates, width: float, given: Room) -> _Frame:
    numbers = np.array([value for row in panel.rows for value in (row.low, row.value, row.high)])
    fixed = [panel.reference, *(panel.margin or ())]
    known = np.array([value for value in fixed if value is not None], dtype=np.float64)
    lines = [line for row in panel.rows for line in _name_lines(row, width)]
    names = max((words.width(line, NAME_SIZE) for line in lines), default=0.0)
    said = max((words.width(row.text, TICK_SIZE) for row in panel.rows), default=0.0)
    left = SIDE + names + 12
    right = width - SIDE - (min(said, WORDS * width) + 10 if said else 4.0)
    axis = fitted([numbers.astype(np.float64), known])
    return _Frame(left, right, given.header, given.header + given.body, axis)


def _background(panel: Estimates, frame: _Frame) -> Iterator[str]:
    if panel.margin:
        low, high = sorted(panel.margin)
        left, right = frame.x(low), frame.x(high)
        yield element(
            "rect", x=left, y=frame.top, width=right - left, height=frame.bottom - frame.top,
            class_="st-area st-muted-fill",
        )  # fmt: skip
    for tick in ticks(frame.axis, max(int((frame.right - frame.left) // TICK_ROOM), 1)):
        x = frame.x(tick.value)
        yield element("path", d=f"M{number(x)} {number(frame.top)}V{number(frame.bottom)}", class_="st-grid")
        yield text(tick.text, x, frame.bottom + TICK_SIZE * 1.4, anchor="middle")
    if panel.reference is not None:
        x = frame.x(panel.reference)
        yield element("path", d=f"M{number(x)} {number(frame.top)}V{number(frame.bottom)}", class_="st-axis")


def _rows(panel: Estimates, width: float, frame: _Frame) -> Iterator[str]:
    high = (frame.bottom - frame.top) / max(len(panel.rows), 1)
    for index, row in enumerate(panel.rows):
        y = frame.top + (index + 0.5) * high
        lines = _name_lines(row, width)
        for place, line in enumerate(lines):
            below = (place - (len(lines) - 1) / 2) * LINE + NAME_SIZE * 0.35
            yield text(line, frame.left - 12, y + below, NAME_SIZE, "ink", anchor="end")
        yield from _interval(row, y, frame)
        said = words.shortened(row.text, TICK_SIZE, WORDS * width)
        yield text(said, frame.right + 10, y + TICK_SIZE * 0.35) if said else ""


def _interval(row: Estimate, y: float, frame: _Frame) -> Iterator[str]:
    if not np.isfinite(row.value):
        yield text("no value", (frame.left + frame.right) / 2, y + TICK_SIZE * 0.35, anchor="middle")
        return
    slot = Slot(0) if row.tone is None else of_tone(row.tone)
    colour = "muted" if slot.colour < 0 else f"c{slot.colour}"
    known = np.isfinite(row.low) and np.isfinite(row.high)
    left, right = (frame.x(row.low), frame.x(row.high)) if known else (0.0, 0.0)
    if right - left > DOT:  # a shorter one hides behind its dot
        cap = f"v{number(2 * CAP)}"
        ends = "".join(f"M{number(x)} {number(y - CAP)}{cap}" for x in (left, right))
        path = f"M{number(left)} {number(y)}H{number(right)}{ends}"
        yield element("path", d=path, class_=f"st-line st-{colour}")
    yield element(
        "path", d=f"M{number(frame.x(row.value))} {number(y)}h0", class_=f"st-dots st-big st-{colour}"
    )


def _footer(panel: Estimates, width: float, frame: _Frame) -> Iterator[str]:
    below = frame.bottom + TICK_SIZE * 1.5
    if panel.x_label:
        below += TICK_SIZE * LEADING
        yield text(panel.x_label, (frame.left + frame.right) / 2, below, anchor="middle")
    if panel.note:
        yield paragraph(panel.note, SIDE, below + 8.0, width - 2 * SIDE)
