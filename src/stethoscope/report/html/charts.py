"""Which curves are drawn together, in which order, and what the page knows of each chart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from stethoscope.diagnose import Diagnosis
from stethoscope.figures import svg
from stethoscope.figures.chart import Chart, Line
from stethoscope.figures.chart import Mark as DrawnMark
from stethoscope.figures.thinning import PER_COLUMN
from stethoscope.report.clean_text import one_line
from stethoscope.report.html.anchors import of_chart, of_findings
from stethoscope.report.html.curve_data import curve_data, thinned
from stethoscope.report.html.marks import Mark, marks
from stethoscope.report.plot import LOG_FROM
from stethoscope.report.regimes import Regime, regimes
from stethoscope.report.telling_series import telling_series
from stethoscope.report.timeline import timeline
from stethoscope.report.words import count, number
from stethoscope.run import Series
from stethoscope.run.names import better

Json = dict[str, object]

MOST_CHARTS = 24  # drawn; the others are listed
AT_ONCE = 7  # charts that are open when the page is; the others open on a click
MOST_TOGETHER = 6  # lines of one chart, one for each colour
POINTS_IN_ALL = 30_000  # of all curves of a page, so that it stays below a megabyte
MOST_COLUMNS, FEWEST_COLUMNS = 1200, 60  # of one curve
STATIC_COLUMNS = 220  # of the picture without script
MOST_LISTED = 300  # series that are not drawn
LONGEST_NAME = 120
MARKS_IN_PICTURE = 4  # more would cover each other
MOST_SAVED = 200  # checkpoints that are marked, the last ones

# What is looked at first, by canonical name; what findings point at comes before the rest.
FIRST = ("loss", "val/", "train/", "lr", "grad_norm", "loss_scale", "loss/")
LAST = ("epoch", "step_time", "data_time", "throughput", "mem", "runtime")
TOGETHER = ("loss/", "weight/", "lr/")


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """A chart of the page: its curves, and what is marked on it."""

    number: int
    title: str
    axis: str
    series: tuple[Series, ...]
    better: str | None
    log: bool
    marks: tuple[Mark, ...]
    regimes: tuple[Regime, ...]
    saved: tuple[int, ...]  # steps of checkpoints

    @property
    def id(self) -> str:
        """What links lead to."""
        return of_chart(self.number)


def panels(diagnosis: Diagnosis) -> tuple[Panel, ...]:
    """The charts of a page, the most telling first."""
    run = diagnosis.run
    phases = regimes(run)
    told, anchors = timeline(diagnosis), of_findings(diagnosis)
    saved = tuple(sorted({one.step for one in run.checkpoints if one.step is not None}))[-MOST_SAVED:]
    return tuple(
        Panel(
            place,
            _title(group),
            group[0].axis,
            group,
            _direction(group),
            _wants_log(group),
            marks(told, group, anchors),
            phases if phases and run.series[phases[0].series].axis == group[0].axis else (),
            saved if group[0].axis == "step" else (),
        )
        for place, group in enumerate(_groups(diagnosis)[:MOST_CHARTS], start=1)
    )


def not_drawn(diagnosis: Diagnosis) -> tuple[Series, ...]:
    """The series that no chart holds: too many, or without a finite value."""
    drawn = {series.name for group in _groups(diagnosis)[:MOST_CHARTS] for series in group}
    return tuple(series for series in diagnosis.run.series.values() if series.name not in drawn)


def chart_data(shown: Sequence[Panel]) -> list[Json]:
    """What the script draws, in numbers."""
    curves = sum(len(panel.series) for panel in shown) or 1
    columns = min(MOST_COLUMNS, max(FEWEST_COLUMNS, POINTS_IN_ALL // (PER_COLUMN * curves)))
    return [_data(panel, columns) for panel in shown]


def picture(panel: Panel) -> Chart:
    """The chart as a picture that needs no script."""
    lines = [Line(_name(series), *thinned(series, STATIC_COLUMNS)) for series in panel.series]
    drawn = [DrawnMark(float(mark.step), mark.short) for mark in panel.marks[:MARKS_IN_PICTURE]]
    direction = f"{panel.better} is better" if panel.better else ""
    return Chart(panel.title, panel.axis, direction, lines, marks=drawn, log_y=panel.log)


def summary(panel: Panel) -> str:
    """What the chart shows, in sentences, for who cannot see it."""
    said = [_course(series) for series in panel.series]
    said += [f"{mark.short} at {panel.axis} {mark.step:,}: {mark.title}." for mark in panel.marks]
    return " ".join(said)


def static_picture(panel: Panel) -> str:
    """The picture as SVG for a page that has the style of pictures."""
    return svg.render(picture(panel), styled=False)


def _groups(diagnosis: Diagnosis) -> list[tuple[Series, ...]]:
    """The series, joined where they are read together, in the order in which they are looked at."""
    run = diagnosis.run
    drawable = [series for series in run.series.values() if np.isfinite(series.values).any()]
    ordered = sorted(drawable, key=_order(diagnosis))
    groups: dict[tuple[str, str], list[Series]] = {}
    for series in ordered:
        key = (_group_of(series.name), series.axis)
        while len(groups.get(key, ())) >= MOST_TOGETHER:
            key = (key[0] + "+", key[1])
        groups.setdefault(key, []).append(series)
    return [tuple(group) for group in groups.values()]


def _order(diagnosis: Diagnosis) -> Callable[[Series], tuple[int, int, str]]:
    """How soon a series is looked at: the most telling one and the loss, what findings point at, the rest."""
    telling = telling_series(diagnosis)
    most_telling = telling.series.name if telling else ""
    pointed = frozenset(_pointed(diagnosis))

    def place(series: Series) -> tuple[int, int, str]:
        name = series.name
        if name in (most_telling, "loss"):
            return 0, int(name != most_telling), name
        usual = next((at for at, start in enumerate(FIRST) if name.startswith(start)), len(FIRST))
        return 1 if name in pointed else 3 if name in LAST else 2, usual, name

    return place


def _pointed(diagnosis: Diagnosis) -> Iterator[str]:
    for found in diagnosis.explanation.symptoms:
        yield from (place.series for place in found.finding.places if place.series)


def _group_of(name: str) -> str:
    """Series of one group are drawn in one chart: a metric with its validation, terms together."""
    for family in TOGETHER:
        if name.startswith(family):
            return family
    return name.removeprefix("val/").removeprefix("train/")


def _title(group: Sequence[Series]) -> str:
    names = [_name(series) for series in group]
    if len(group) > 2:
        family = _group_of(group[0].name)
        return {"loss/": "loss terms", "weight/": "loss weights", "lr/": "learning rates"}.get(
            family, ", ".join(names)
        )
    return " and ".join(names)


def _name(series: Series) -> str:
    return one_line(series.name, LONGEST_NAME)


def _direction(group: Iterable[Series]) -> str | None:
    directions = {better(series.name) for series in group}
    return directions.pop() if len(directions) == 1 else None


def _wants_log(group: Iterable[Series]) -> bool:
    values = np.concatenate([series.finite().values for series in group])
    low, high = float(values.min()), float(values.max())
    return low > 0 and high / LOG_FROM >= low


def _course(series: Series) -> str:
    finite = series.finite()
    low, high = float(finite.values.min()), float(finite.values.max())
    first, last = (
        f"{number(float(finite.values[at]))} at {series.axis} {int(finite.steps[at]):,}" for at in (0, -1)
    )
    said = f"{_name(series)} goes from {first} to {last}, between {number(low)} and {number(high)}"
    bad = len(series) - len(finite)
    return f"{said}; {count(bad, 'value')} not finite." if bad else f"{said}."


def _data(panel: Panel, columns: int) -> Json:
    return {
        "id": panel.id,
        "title": panel.title,
        "axis": panel.axis,
        "log": panel.log,
        "curves": [
            {"name": _name(series), **curve_data(series, columns, [mark.step for mark in panel.marks])}
            for series in panel.series
        ],
        "marks": [
            {"step": m.step, "kind": m.kind.value, "short": m.short, "title": m.title, "to": m.leads_to}
            for m in panel.marks
        ],
        "regimes": [{"first": r.first, "last": r.last, "title": r.title} for r in panel.regimes],
        "namesRegimes": any(r.series == s.name for r in panel.regimes for s in panel.series),
        "saved": list(panel.saved),
    }


def home_of(shown: Sequence[Panel]) -> dict[str, Panel]:
    """The chart that holds each series."""
    return {series.name: panel for panel in shown for series in panel.series}


def series_table(series: Iterable[Series]) -> list[tuple[str, ...]]:
    """Name, number of points, first, last, lowest and highest value of series that are not drawn."""
    rows = []
    for one in series:
        finite = one.finite().values
        ends = [finite[0], finite[-1], finite.min(), finite.max()] if len(finite) else []
        told = [number(float(value)) for value in ends] or ["", "", "", ""]
        rows.append((_name(one), f"{len(one):,}", *told))
    return rows
