"""A picture in the terminal: lines of braille dots, or letters where those cannot be written.

Braille dots have no shape of their own, so several lines are told apart by colour. Without colours, and where
only ASCII can be written, every line has a letter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from stethoscope.figures import axis, thinning, words
from stethoscope.figures.chart import Chart, Drawing, Estimate, Estimates, Figure, Image, Line, Numbers
from stethoscope.figures.chart_axes import axes_of, stepped
from stethoscope.figures.colours import BAD, GOOD, MUTED, Slot, of_tone, slot_of, slots

WIDTH, HEIGHT = 76, 16  # of a picture for which nobody said otherwise
LEAST_WIDTH, LEAST_HEIGHT = 24, 4
BEYOND = 4  # heights: how far above and below its frame a line is followed
LETTERS = "*o+x#@"
# The sixteen colours that every terminal has, readable on light and on dark ones.
SGR = {GOOD: "34", BAD: "31", 2: "32", 3: "35", 4: "36", 5: "33", MUTED: "90"}

# The bit of each dot of a braille letter, by row and column.
_BRAILLE = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
_FIRST_BRAILLE = 0x2800

_Dots = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Paper:
    """What can be written: how wide, how high, in which letters."""

    width: int
    height: int
    only_ascii: bool
    colour: bool


def render(
    drawing: Drawing, width: int = WIDTH, height: int = HEIGHT, encoding: str = "utf-8", colour: bool = False
) -> str:
    """The drawing as lines of text; `colour` allows escape sequences that colour it."""
    only_ascii = not encoding.lower().replace("-", "").startswith("utf")
    paper = _Paper(max(width, LEAST_WIDTH), max(height, LEAST_HEIGHT), only_ascii, colour)
    text = "\n".join(line.rstrip() for line in _lines(drawing, paper)) + "\n"
    return text.encode("ascii", "replace").decode("ascii") if only_ascii else text


def _lines(drawing: Drawing, paper: _Paper) -> Iterator[str]:
    if isinstance(drawing, Figure):
        yield from _headed(drawing.title, paper)
        for panel in drawing.panels:
            yield from _lines(panel, paper)
            yield ""
        yield from _broken(drawing.caption, paper)
    elif isinstance(drawing, Chart):
        yield from _chart(drawing, paper)
    elif isinstance(drawing, Estimates):
        yield from _estimates(drawing, paper)
    else:
        yield from _image(drawing, paper)


def _headed(title: str, paper: _Paper) -> Iterator[str]:
    for line in _broken(title, paper):
        yield _coloured(line, "1", paper)


def _broken(text: str, paper: _Paper) -> list[str]:
    """The text in lines that fit; every letter is one cell wide, or two in East Asian scripts."""
    lines: list[str] = []
    for word in words.harmless(text).split():
        if lines and len(lines[-1]) + 1 + len(word) <= paper.width:
            lines[-1] += f" {word}"
        else:
            lines.append(word[: paper.width])
    return lines


def _coloured(text: str, sgr: str, paper: _Paper) -> str:
    return f"\x1b[{sgr}m{text}\x1b[0m" if paper.colour and sgr and text else text


# --- charts


def _chart(chart: Chart, paper: _Paper) -> Iterator[str]:
    yield from _headed(chart.title, paper)
    pens = _pens(chart, paper)
    yield from _legend(pens, paper)
    if chart.y_label:
        yield words.harmless(chart.y_label)[: paper.width]
    yield from _plot(chart, pens, paper)
    if chart.x_label:
        yield words.harmless(chart.x_label)[: paper.width].center(paper.width)
    for mark in chart.marks:
        yield from _broken(f"{mark.text}: at {axis.written(mark.x)}" if mark.text else "", paper)
    for level in chart.levels:
        yield from _broken(f"{level.text}: {axis.written(level.y)}" if level.text else "", paper)
    yield from _broken(chart.note, paper)


@dataclass(frozen=True, slots=True)
class _Pen:
    """What draws one line: a letter, or braille where there is none, and a colour."""

    line: Line
    letter: str
    sgr: str


def _pens(chart: Chart, paper: _Paper) -> list[_Pen]:
    """A pen for every line; of a band that goes with no line the upper edge is drawn."""
    given = slots([chart])[0]
    known = {line.name for line in chart.lines}
    edges = [
        Line(band.name, band.x, band.high, tone=band.tone) for band in chart.bands if band.name not in known
    ]
    lines = [*chart.lines, *edges]
    names = list(dict.fromkeys(line.name for line in lines))
    lettered = paper.only_ascii or (not paper.colour and len(names) > 1)
    letters = {name: LETTERS[index % len(LETTERS)] if lettered else "" for index, name in enumerate(names)}
    return [_Pen(line, letters[line.name], SGR[slot_of(line, given).colour]) for line in lines]


def _legend(pens: list[_Pen], paper: _Paper) -> Iterator[str]:
    """The names, as many to a row as fit."""
    used = 0
    row: list[str] = []
    for pen in {pen.line.name: pen for pen in pens if pen.line.name}.values():
        sample, name = pen.letter or "\u2501\u2501", words.harmless(pen.line.name)[: paper.width - 4]
        if row and used + len(sample) + len(name) + 3 > paper.width:
            yield "  ".join(row)
            used, row = 0, []
        row.append(f"{_coloured(sample, pen.sgr, paper)} {name}")
        used += len(sample) + len(name) + 3
    if row:
        yield "  ".join(row)


def _plot(chart: Chart, pens: list[_Pen], paper: _Paper) -> Iterator[str]:
    x, y = axes_of(chart)
    labels = {_row(y.at(tick.value), paper.height): tick.text for tick in axis.ticks(y, paper.height // 3)}
    margin = max((len(text) for text in labels.values()), default=0)
    columns = max(paper.width - margin - 2, 8)
    cells = _cells(pens, (x, y), columns, paper)
    upright = "|" if paper.only_ascii else "\u2502"
    for row, drawn in enumerate(cells):
        yield f"{labels.get(row, ''):>{margin}} {upright}{_row_text(drawn, paper)}"
    corner, level = ("+", "-") if paper.only_ascii else ("\u2514", "\u2500")
    yield f"{'':>{margin}} {corner}{level * columns}"
    yield f"{'':>{margin}}  {_x_labels(x, columns)}"


def _row(share: float, rows: int) -> int:
    return round((1 - share) * (rows - 1))


def _cells(
    pens: list[_Pen], axes: tuple[axis.Axis, axis.Axis], columns: int, paper: _Paper
) -> list[list[tuple[str, str]]]:
    """The letter and colour of every cell; of two lines in one cell the later one is seen."""
    cells = [[(" ", "")] * columns for _ in range(paper.height)]
    for pen in pens:
        across, down = (1, 1) if pen.letter else (2, 4)
        dots = _dots(pen.line, *axes, columns * across, paper.height * down)
        blocks = dots.reshape(paper.height, down, columns, across).transpose(0, 2, 1, 3)
        for row, column in zip(*np.nonzero(blocks.any(axis=(2, 3))), strict=True):
            cells[row][column] = (pen.letter or _braille(blocks[row, column]), pen.sgr)
    return cells


def _row_text(cells: list[tuple[str, str]], paper: _Paper) -> str:
    """A row of cells; neighbours of one colour share its escape sequences."""
    runs = groupby(cells, key=lambda cell: cell[1])
    return "".join(_coloured("".join(letter for letter, _ in run), sgr, paper) for sgr, run in runs)


def _braille(block: _Dots) -> str:
    return chr(_FIRST_BRAILLE + int((block * _BRAILLE).sum()))


def _dots(line: Line, x: axis.Axis, y: axis.Axis, across: int, down: int) -> _Dots:
    """The dots of one line: its points, and what lies between two that are joined."""
    dots = np.zeros((down, across), dtype=np.bool_)
    xs, ys = stepped(line) if line.style == "steps" else (line.x, line.y)
    columns, rows = x.share(xs) * (across - 1), (1 - y.share(ys)) * (down - 1)
    if line.style == "dots":
        kept = thinning.dots(columns * thinning.DOT, rows * thinning.DOT)
        _put(dots, columns[kept], rows[kept])
        return dots
    # Far beyond the frame there is nothing to be joined dot by dot.
    columns, rows = np.clip(columns, -across, 2 * across), np.clip(rows, -BEYOND * down, BEYOND * down)
    for part in thinning.line_parts(columns, rows, across):
        _put(dots, *_joined(columns[part], rows[part]))
    return dots


def _joined(columns: Numbers, rows: Numbers) -> tuple[Numbers, Numbers]:
    """Points close enough together that they touch."""
    lengths = np.maximum(np.abs(np.diff(columns)), np.abs(np.diff(rows)))
    counts = np.maximum(np.ceil(lengths).astype(np.int64), 1)
    starts = np.repeat(np.arange(len(counts)), counts)
    places = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    shares = places / counts[starts] if len(starts) else places.astype(np.float64)
    between = [
        np.append(values[starts] + np.diff(values)[starts] * shares, values[-1]) for values in (columns, rows)
    ]
    return between[0], between[1]


def _put(dots: _Dots, columns: Numbers, rows: Numbers) -> None:
    across, down = np.rint(columns).astype(np.int64), np.rint(rows).astype(np.int64)
    inside = (across >= 0) & (across < dots.shape[1]) & (down >= 0) & (down < dots.shape[0])
    dots[down[inside], across[inside]] = True


def _x_labels(x: axis.Axis, columns: int) -> str:
    row = [" "] * columns
    free = 0
    for tick in axis.ticks(x, max(columns // 12, 1)):
        middle = round(x.at(tick.value) * (columns - 1))
        begin = min(max(middle - len(tick.text) // 2, 0), columns - len(tick.text))
        if tick.text and begin >= free:
            row[begin : begin + len(tick.text)] = tick.text
            free = begin + len(tick.text) + 2
    return "".join(row)


# --- estimates and images


def _estimates(panel: Estimates, paper: _Paper) -> Iterator[str]:
    yield from _headed(panel.title, paper)
    names = max((min(len(words.harmless(row.name)), paper.width // 3) for row in panel.rows), default=0)
    said = max((min(len(words.harmless(row.text)), paper.width // 4) for row in panel.rows), default=0)
    columns = max(paper.width - names - said - 3, 8)
    fixed = [value for value in (panel.reference, *(panel.margin or ())) if value is not None]
    numbers = [value for row in panel.rows for value in (row.low, row.value, row.high)]
    span = axis.fitted([np.array([*fixed, *numbers], dtype=np.float64)])
    for row in panel.rows:
        name, text = words.harmless(row.name)[:names], words.harmless(row.text)[:said]
        yield f"{name:>{names}} {_interval(row, panel.reference, span, columns, paper)} {text}"
    yield f"{'':>{names}} {_x_labels(span, columns)}"
    if panel.x_label:
        yield f"{'':>{names}} {words.harmless(panel.x_label).center(columns)}"
    yield from _broken(panel.note, paper)


def _interval(row: Estimate, reference: float | None, span: axis.Axis, columns: int, paper: _Paper) -> str:
    cells = [" "] * columns
    line, upright, dot = ("-", "|", "o") if paper.only_ascii else ("\u2500", "\u2502", "\u25cf")
    if reference is not None:
        cells[_column(span, reference, columns)] = upright
    if not np.isfinite(row.value):
        return "no value".center(columns)
    if np.isfinite(row.low) and np.isfinite(row.high):
        for place in range(_column(span, row.low, columns), _column(span, row.high, columns) + 1):
            cells[place] = line
    cells[_column(span, row.value, columns)] = dot
    slot = Slot(GOOD) if row.tone is None else of_tone(row.tone)
    return _coloured("".join(cells), SGR[slot.colour], paper)


def _column(span: axis.Axis, value: float, columns: int) -> int:
    return round(min(max(span.at(value), 0.0), 1.0) * (columns - 1))


def _image(image: Image, paper: _Paper) -> Iterator[str]:
    """Half blocks of grey: two rows of pixels to a line of text."""
    yield from _headed(image.title, paper)
    rows, columns, _ = image.pixels.shape
    across = min(columns, paper.width)
    down = max(round(rows * across / columns / 2), 1)
    ramp = " .:-=+*#%@" if paper.only_ascii else " \u2591\u2592\u2593\u2588"
    grey = image.pixels.mean(axis=2)
    sampled = grey[np.linspace(0, rows - 1, down).astype(int)][
        :, np.linspace(0, columns - 1, across).astype(int)
    ]
    for row in (sampled / 255 * (len(ramp) - 1)).round().astype(int):
        yield "".join(ramp[level] for level in row)
    yield from _broken(image.note, paper)
