"""A run against its bands, as a picture: one chart for each signal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stethoscope.figures.chart import Band, Chart, Figure, Line, Mark
from stethoscope.report.check_words import headline, signal_sentence
from stethoscope.report.clean_text import one_line
from stethoscope.run import Values
from stethoscope.trajectory.holding import JudgedSignal, Judgement
from stethoscope.trajectory.trajectory import Held, Scale

DENSE = 120  # places at which a band is drawn
WIDE = 30.0  # a positive band and curve that span this factor are drawn on a log axis


def picture(judgement: Judgement) -> Figure:
    """Every signal that could be drawn."""
    charts = tuple(chart(judgement, one) for one in judgement.signals if one.series is not None)
    return Figure(headline(judgement), charts, caption="The band is where a healthy run's level is expected.")


def chart(judgement: Judgement, one: JudgedSignal) -> Chart:
    """One signal: its band, what is expected, the run."""
    places = _places(one.held)
    low, middle, high = (_values(one.held, places, part) for part in ("low", "expected", "high"))
    known = np.isfinite(low) & np.isfinite(high)
    bands = [Band("band", places[known], low[known], high[known], "muted")] if known.any() else []
    lines = [Line("expected", places, middle, "dashed", "muted")] if np.isfinite(middle).any() else []
    if not bands:
        lines += [Line("limit", places, side, "dotted", "muted") for side in (low, high) if _is_known(side)]
    return _framed(judgement, one, [*lines, _run(one)], bands, signal_sentence(one))


def plain_chart(judgement: Judgement, one: JudgedSignal) -> Chart:
    """The same in fewer lines, for letters: the two sides of the band, and the run."""
    places = _places(one.held)
    sides = [_values(one.held, places, part) for part in ("low", "high")]
    edges = [Line("band", places, side, tone="muted") for side in sides if _is_known(side)]
    return _framed(judgement, one, [*edges, _run(one)], [], "")


def _run(one: JudgedSignal) -> Line:
    assert one.series is not None
    return Line("run", one.series.steps, one.series.values, tone="bad" if one.departure else "good")


def _framed(
    judgement: Judgement, one: JudgedSignal, lines: Sequence[Line], bands: Sequence[Band], note: str
) -> Chart:
    held = one.held
    marks = [Mark(phase.last, f"{one_line(phase.name, 30)} ends") for phase in judgement.trajectory.phases]
    if one.departure is not None:
        marks.append(Mark(one.departure.first, "leaves its band"))
    drawn = [*(line.y for line in lines), *(band.low for band in bands), *(band.high for band in bands)]
    name, log_y = one_line(held.name, 80), _is_wide(drawn)
    return Chart(name, held.unit, lines=lines, bands=bands, marks=marks, log_y=log_y, note=note)


def _is_known(side: Values) -> bool:
    return bool(np.isfinite(side).any())


def _places(held: Held) -> Values:
    named = [float(row.step) for row in held.rows]
    between = np.linspace(held.first, held.last, DENSE)
    return np.unique(np.concatenate([named, between]))


def _values(held: Held, places: Values, part: str) -> Values:
    found = held.at(places, part)
    return np.asarray(np.exp(found) if held.scale is Scale.LOG else found)


def _is_wide(drawn: Sequence[Values]) -> bool:
    known = np.concatenate([one[np.isfinite(one)] for one in drawn])
    return bool(len(known)) and bool(known.min() > 0.0) and bool(known.max() / WIDE > known.min())
