"""A comparison as a picture: the signals that part first, with the step at which each does."""

from __future__ import annotations

import numpy as np

from stethoscope.compare.comparison import Comparison, Signal
from stethoscope.figures.chart import Chart, Figure, Line, Mark
from stethoscope.report import compare_words as words
from stethoscope.run import Series

MOST_PANELS = 6
LOG_FROM = 30.0  # a positive signal that spans this factor is drawn on a log scale


def picture(compared: Comparison) -> Figure:
    """Both runs, signal by signal, the first to part first."""
    good, bad = words.names(compared)
    panels = [_chart(one, compared, good, bad) for one in compared.signals.compared[:MOST_PANELS]]
    return Figure(
        f"{bad} against {good}", panels, columns=1 if len(panels) == 1 else 2, caption=_caption(compared)
    )


def _chart(signal: Signal, compared: Comparison, good: str, bad: str) -> Chart:
    theirs = [one.run.series[signal.name] for one in compared.goods]
    ours = compared.bad.run.series[signal.name]
    lines = [_line(good if place == 0 else "", series, "good") for place, series in enumerate(theirs)]
    lines.append(_line(bad, ours, "bad"))
    part = signal.part
    marks = [Mark(float(part.step), "parts")] if part else []
    note = f"Sure by step {part.sure:,}." if part else "Does not part."
    return Chart(signal.name, ours.axis, signal.name, lines, marks=marks, log_y=_wide(theirs[0]), note=note)


def _line(name: str, series: Series, tone: str) -> Line:
    return Line(name, series.steps, series.values, tone="good" if tone == "good" else "bad")


def _wide(series: Series) -> bool:
    values = series.finite().values
    return bool(len(values) and values.min() > 0 and values.max() / np.float64(LOG_FROM) >= values.min())


def _caption(compared: Comparison) -> str:
    return f"{words.headline(compared)} {words.verdict_on_differences(compared)}"
