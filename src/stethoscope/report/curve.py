"""The plot of one series with its axes, its marks, and a line that says what the marks mean."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rich.text import Text

from stethoscope.report.clean_text import one_line
from stethoscope.report.line import Line
from stethoscope.report.palette import OF_MARK
from stethoscope.report.plot import Plot, plot
from stethoscope.report.telling_series import Telling
from stethoscope.report.words import count, number

WIDEST_PLOT = 60
NARROWEST_PLOT = 10
INDENT = 2
EMPTY = " \N{BRAILLE PATTERN BLANK}"
ONSET, BEST, NON_FINITE = "^", "o", "x"


def curve(telling: Telling, width: int, height: int, only_ascii: bool) -> Iterator[Line]:
    """The series, drawn in at most this width."""
    series = telling.series
    gutter = max(len(number(v)) for v in _extremes(series.values)) + 1
    columns = min(WIDEST_PLOT, max(NARROWEST_PLOT, width - INDENT - gutter - 1))
    drawn = plot(series.steps.astype(np.float64), series.values, columns, height, only_ascii)
    yield Line(Text(_title(telling, drawn)), indent=INDENT)
    if drawn is not None:
        yield from _rows(drawn, gutter, "|" if only_ascii else "\N{BOX DRAWINGS LIGHT VERTICAL}")
        yield _axis(telling, drawn, gutter, "-" if only_ascii else "\N{BOX DRAWINGS LIGHT HORIZONTAL}")
        yield _step_labels(drawn, gutter)
    yield from _legend(telling, width)


def _extremes(values: np.ndarray) -> list[float]:
    finite = values[np.isfinite(values)]
    return [float(finite.min()), float(finite.max())] if len(finite) else [0.0]


def _title(telling: Telling, drawn: Plot | None) -> str:
    direction = f", {telling.better} is better" if telling.better else ""
    medians = ", medians" if drawn and drawn.medians else ""
    scale = ", log scale" if drawn and drawn.logarithmic else ""
    return one_line(telling.series.name, 200) + direction + medians + scale


def _rows(drawn: Plot, gutter: int, rule: str) -> Iterator[Line]:
    for index, row in enumerate(drawn.rows):
        label = {0: number(drawn.top), len(drawn.rows) - 1: number(drawn.bottom)}.get(index, "")
        yield Line(Text(f"{label:>{gutter - 1}} {rule}{row.rstrip(EMPTY)}"), indent=INDENT, verbatim=True)


def _axis(telling: Telling, drawn: Plot, gutter: int, rule: str) -> Line:
    """The step axis, with a mark at each step worth a look."""
    axis = Text(" " * gutter + "+" + rule * len(drawn.rows[0]))
    marks = [(column, NON_FINITE) for column in drawn.columns(telling.non_finite)]
    if telling.best is not None:
        marks += [(column, BEST) for column in drawn.columns(telling.series.steps[[telling.best]])]
    if telling.onset is not None and drawn.first <= telling.onset <= drawn.last:
        marks += [(column, ONSET) for column in drawn.columns(np.array([telling.onset]))]
    letters, styles = list(axis.plain), {}
    for column, mark in marks:
        at = gutter + 1 + column
        letters[at], styles[at] = mark, OF_MARK[mark]
    axis = Text("".join(letters))
    for at, style in styles.items():
        axis.stylize(style, at, at + 1)
    return Line(axis, indent=INDENT, verbatim=True)


def _step_labels(drawn: Plot, gutter: int) -> Line:
    first, last = f"{drawn.first:,}", f"{drawn.last:,}"
    room = len(drawn.rows[0]) - len(first)
    return Line(
        Text(" " * (gutter + 1) + first + f"{last:>{max(room, len(last) + 1)}}"), indent=INDENT, verbatim=True
    )


def _legend(telling: Telling, width: int) -> Iterator[Line]:
    parts = []
    if telling.best is not None:
        step, value = int(telling.series.steps[telling.best]), float(telling.series.values[telling.best])
        parts.append((BEST, f" best {number(value)} at {telling.series.axis} {step:,}"))
    if telling.onset is not None:
        parts.append((ONSET, f" trouble begins at {telling.series.axis} {telling.onset:,}"))
    if len(telling.non_finite):
        many = count(len(telling.non_finite), "value")
        parts.append(
            (NON_FINITE, f" {many} not finite, the first at {telling.series.axis} {telling.non_finite[0]:,}")
        )
    marks = [Text.assemble((mark, OF_MARK[mark]), said) for mark, said in parts]
    beside = Text("   ").join(marks)
    fits = INDENT + len(beside) <= width
    yield from (Line(mark, indent=INDENT, hang=2) for mark in ([beside] if fits and marks else marks))
