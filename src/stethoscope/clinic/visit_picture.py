"""The curves of a visit in one picture: what the run logged as it is, and what it logs when it is treated."""

from __future__ import annotations

from stethoscope.clinic.case import Metric
from stethoscope.clinic.visit import CURED, HEALTHY, PRESCRIBED, SICK, Patient, Visit
from stethoscope.figures.chart import Chart, Estimate, Estimates, Figure, Line, Panel, Style, Tone
from stethoscope.read import read
from stethoscope.run import Run, Series

LOSSES = ("loss", "train/loss")
SPOKEN = {SICK: "sick", HEALTHY: "as it is", PRESCRIBED: "as prescribed", CURED: "cured by hand"}
TONES: dict[str, Tone] = {SICK: "bad", HEALTHY: "good", PRESCRIBED: "good", CURED: "muted"}
STYLES: dict[str, Style] = {SICK: "solid", HEALTHY: "solid", PRESCRIBED: "solid", CURED: "dashed"}


def picture(visit: Visit) -> Figure:
    """The metric and the loss of every run of a visit; two runs that were the same are drawn once."""
    runs = {patient.name: read([patient.run]) for patient in visit.patients}
    names = dict(SPOKEN)
    if are_same(visit.prescribed, visit.cured):
        del runs[CURED]
        names[PRESCRIBED] = f"{SPOKEN[PRESCRIBED]}, the same as {SPOKEN[CURED]}"
    metric = visit.case.metric
    own = metric.name if any(metric.name in run.series for run in runs.values()) else "val/loss"
    charts = [
        _chart(f"{own}, as each run logged it", own, runs, names, (own,)),
        _chart("the loss that is minimised", "loss", runs, names, LOSSES),
    ]
    panels: list[Panel] = [*(chart for chart in charts if chart.lines), _scores(visit)]
    return Figure(visit.case.title, panels, columns=min(len(panels), 2), caption=_caption(visit))


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


def _scores(visit: Visit) -> Estimates:
    """Every run by the yardstick of the clinic, beside what doing nothing reaches."""
    metric = visit.case.metric
    rows = [
        Estimate(SPOKEN[one.name], score, score, score, TONES[one.name], score_of(one, metric))
        for one in visit.patients
        if (score := one.outcome.score) is not None
    ]
    better = "more is better" if metric.goal == "max" else "less is better"
    note = "" if metric.bar is None else f"The upright line is what doing nothing scores: {metric.bar:.4g}."
    return Estimates(
        "by a yardstick that no change can reach", f"{_named(metric)}, {better}", rows, metric.bar, note=note
    )


def _caption(visit: Visit) -> str:
    return f"Size {visit.size.name}, seed {visit.seed}. One seed shows what happens; trials prove it."


def score_of(patient: Patient, metric: Metric) -> str:
    """The score of a run by the frozen yardstick, or how it ended."""
    score = patient.outcome.score
    return str(patient.outcome.ending) if score is None else f"{score:.4g}{_unit(metric)}"


def _named(metric: Metric) -> str:
    return f"{metric.name} ({metric.unit})" if metric.unit else metric.name


def _unit(metric: Metric) -> str:
    return f" {metric.unit}" if metric.unit else ""
