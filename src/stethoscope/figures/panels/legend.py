"""The legend of a chart, in rows above the axes."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.figures import words
from stethoscope.figures.chart import Band, Chart, Line
from stethoscope.figures.colours import Slot, slot_of
from stethoscope.figures.panels.ink import dash, fill, stroke
from stethoscope.figures.panels.parts import NAME_SIZE, SIDE, element, number, text

ROW = NAME_SIZE * 1.5
SAMPLE = 22.0  # the length of line that is shown
GAP = 16.0  # between two names


def legend_height(chart: Chart, widest: float) -> float:
    """How high the legend is."""
    return ROW * len(_rows(chart, widest))


def legend(chart: Chart, top: float, widest: float, slots: dict[str, Slot]) -> Iterator[str]:
    """Every name with a sample of its line or band."""
    for index, row in enumerate(_rows(chart, widest)):
        left, middle = SIDE, top + (index + 0.5) * ROW
        for drawn in row:
            yield _sample(drawn, left, middle, slot_of(drawn, slots))
            yield text(_name(drawn, widest), left + SAMPLE + 6, middle + 4, NAME_SIZE, "ink")
            left += _entry_width(drawn, widest)


def _rows(chart: Chart, widest: float) -> list[list[Line | Band]]:
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
        return element("rect", x=x, y=y - 5, width=SAMPLE, height=10.0, class_=f"st-area {fill(slot)}")
    if drawn.style == "dots":
        return element("circle", cx=x + SAMPLE / 2, cy=y, r=3.2, class_=fill(slot))
    path = f"M{number(x)} {number(y)}h{number(SAMPLE)}"
    return element("path", d=path, class_=stroke(slot), stroke_dasharray=dash(drawn, slot))
