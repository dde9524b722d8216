"""The marks and levels of a chart: lines through the data, with their texts outside of it."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.figures import words
from stethoscope.figures.chart import Chart, Level, Mark
from stethoscope.figures.panels.frame import Frame
from stethoscope.figures.panels.parts import LEADING, SIDE, TICK_SIZE, element, number, text

ABOVE = 10.0  # between the axes and the first text above them
LEVEL_ROOM = 92.0  # the widest text behind a level line; longer ones go over several lines
MARK_ROW = TICK_SIZE * LEADING
MOST_MARK_ROWS = 4  # above that many, texts that still collide are left to the tooltip
MARK_ROOM = 0.5  # of the axes: the widest text of a mark


def mark_height(chart: Chart, frame: Frame) -> float:
    """How high the texts of the marks are together."""
    rows = (min(row, MOST_MARK_ROWS - 1) + 1 for _, row, _ in _placed(chart, frame))
    return MARK_ROW * max(rows, default=0)


def marks(chart: Chart, frame: Frame) -> Iterator[str]:
    """Upright lines first, so that none crosses a text."""
    texts = []
    for mark, row, left in _placed(chart, frame):
        x = frame.left + frame.x.at(mark.x) * frame.width
        above = ABOVE + MARK_ROW * min(row, MOST_MARK_ROWS - 1) if mark.text else 0.0
        yield element(
            "path",
            f"<title>{words.escaped(mark.text)}</title>" if mark.text else "",
            d=f"M{number(x)} {number(frame.bottom)}V{number(frame.top - above + 3)}",
            class_="st-mark",
        )
        if mark.text and row < MOST_MARK_ROWS:
            texts.append(text(_shown(mark, frame), left, frame.top - above, halo=True))
    yield from texts


def levels(chart: Chart, frame: Frame) -> Iterator[str]:
    """Level lines; their texts stand behind the axes and keep clear of each other."""
    free = frame.top - TICK_SIZE
    for level in sorted(chart.levels, key=lambda level: -level.y):
        share = frame.y.at(level.y)
        if not 0 <= share <= 1:
            continue
        y = frame.bottom - share * frame.height
        yield element("path", d=f"M{number(frame.left)} {number(y)}h{number(frame.width)}", class_="st-mark")
        first = max(
            y + TICK_SIZE * 0.35 - (len(level_lines(level)) - 1) * TICK_SIZE * 0.6, free + TICK_SIZE * 1.2
        )
        for index, line in enumerate(level_lines(level)):
            free = first + index * TICK_SIZE * 1.2
            yield text(line, frame.right + 6, free)


def level_lines(level: Level) -> list[str]:
    """The text of a level in the lines that it is shown in."""
    return words.wrapped(level.text, TICK_SIZE, LEVEL_ROOM)


def _placed(chart: Chart, frame: Frame) -> list[tuple[Mark, int, float]]:
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
        wide = words.width(_shown(mark, frame), TICK_SIZE)
        left = min(frame.left + frame.x.at(mark.x) * frame.width - 4, frame.right + SIDE - wide)
        row = 1 + max((row for begin, row in lefts if left + wide + 6 > begin), default=-1)
        lefts.append((left, row))
        placed.append((mark, min(row, MOST_MARK_ROWS), left))
    return placed


def _shown(mark: Mark, frame: Frame) -> str:
    return words.shortened(mark.text, TICK_SIZE, MARK_ROOM * frame.width)
