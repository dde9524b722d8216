"""The curves of a visit in one picture: what the sick run logged, and what it logs when it is treated."""

from __future__ import annotations

from stethoscope.clinic.case import Metric
from stethoscope.clinic.visit import CURED, PRESCRIBED, SICK, Patient, Visit
from stethoscope.figures.chart import Chart, Figure, Line, Style, Tone
from stethoscope.read import read
from stethoscope.run import Run, Series

LOSSES = ("loss", "train/loss")
SPOKEN = {SICK: "sick", PRESCRIBED: "as prescribed", CURED: "cured by hand"}
TONES: dict[str, Tone] = {SICK: "bad", PRESCRIBED: "good", CURED: "muted"}
STYLES: dict[str, Style] = {SICK: "solid", PRESCRIBED: "solid", CURED: "dashed"}


def picture(visit: Visit) -> Figure:
    """The metric and the loss of every run of a visit; two runs that were the same are drawn once."""
    runs = {patient.name: read([patient.run]) for patient in visit.patients}
    names = dict(SPOKEN)
    if are_same(visit.prescribed, visit.cured):
        del runs[CURED]
        names[PRESCRIBED] = f"{SPOKEN[PRESCRIBED]}, the same as {SPOKEN[CURED]}"
    metric = _named(visit.case.metric)
    charts = [
        _chart(f"{metric}, as each run logged it", metric, runs, names, (visit.case.metric.name,)),
        _chart("the loss that is minimised", "loss", runs, names, LOSSES),
    ]
    return Figure(visit.case.title, [chart for chart in charts if chart.lines], caption=_caption(visit))


def are_same(one: Patient | None, other: Patient | None) -> bool:
    """Whether two runs logged the same, step for step."""
    return one is not None and other is not None and one.outcome.fingerprint == other.outcome.fingerprint


def _chart(
    title: str, y_label: str, runs: dict[str, Run], names: dict[str, str], wanted: tuple[str, ...]
) -> Chart:
    lines = []
    for name, run in runs.items():
        series: Series | None = next((run.series[one] for one in wanted if one in run.series), None)
        if series is not None:
            lines.append(Line(names[name], series.steps, series.values, STYLES[name], TONES[name]))
    return Chart(title, "step", y_label, lines)


def _caption(visit: Visit) -> str:
    judged = ", ".join(f"{SPOKEN[one.name]} {score_of(one, visit.case.metric)}" for one in visit.patients)
    bar = visit.case.metric.bar
    nothing = "" if bar is None else f" Doing nothing scores {bar:.4g}{_unit(visit.case.metric)}."
    return f"By a yardstick that no change can reach: {judged}.{nothing}"


def score_of(patient: Patient, metric: Metric) -> str:
    """The score of a run by the frozen yardstick, or how it ended."""
    score = patient.outcome.score
    return str(patient.outcome.ending) if score is None else f"{score:.4g}{_unit(metric)}"


def _named(metric: Metric) -> str:
    return f"{metric.name} ({metric.unit})" if metric.unit else metric.name


def _unit(metric: Metric) -> str:
    return f" {metric.unit}" if metric.unit else ""
