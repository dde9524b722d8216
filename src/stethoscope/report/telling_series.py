"""The one curve that shows best what happened, with the steps worth marking on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stethoscope.causes.verdict import stands
from stethoscope.diagnose import Diagnosis
from stethoscope.findings import Finding
from stethoscope.run import Run, Series, Steps
from stethoscope.run.names import better

FEWEST_POINTS = 3  # fewer make no curve


@dataclass(frozen=True, slots=True, eq=False)
class Telling:
    """A curve, and the steps to mark: where the trouble begins, the best value, what is not finite."""

    series: Series
    better: str | None
    onset: int | None
    best: int | None  # the position of the best value
    non_finite: Steps


def telling_series(diagnosis: Diagnosis) -> Telling | None:
    """The curve the evidence points at, else the validation metric, else the loss."""
    findings = _evidence(diagnosis)
    pointed = [place.series for finding in findings for place in finding.places if place.series]
    # What a person judges a run by, before what explains it.
    ordered = sorted(pointed, key=lambda name: (not name.startswith("val/"), not name.startswith("loss")))
    candidates = [diagnosis.run.series[name] for name in ordered if name in diagnosis.run.series]
    for series in [*candidates, *_usual(diagnosis.run)]:
        if len(series) >= FEWEST_POINTS and np.isfinite(series.values).any():
            return _marked(series, _onset(series, findings))
    return None


def _evidence(diagnosis: Diagnosis) -> list[Finding]:
    """The findings that causes which stand rest on, then the other symptoms."""
    standing = [cause for cause in diagnosis.explanation.causes if stands(cause)]
    used = [argument.finding for cause in standing for argument in cause.arguments_for if argument.finding]
    return list(dict.fromkeys([*used, *(found.finding for found in diagnosis.explanation.symptoms)]))


def _onset(series: Series, findings: list[Finding]) -> int | None:
    """The earliest step at which something goes wrong with this series, unless it was so from the start."""
    onsets = [
        finding.onset
        for finding in findings
        if finding.onset is not None and any(place.series == series.name for place in finding.places)
    ]
    return min((onset for onset in onsets if series.steps[0] < onset <= series.steps[-1]), default=None)


def _usual(run: Run) -> Iterator[Series]:
    judged = [series for name, series in run.series.items() if name.startswith("val/") and better(name)]
    yield from sorted(judged, key=len, reverse=True)
    losses = [series for name, series in run.series.items() if name == "loss" or name.startswith("loss/")]
    yield from sorted(losses, key=lambda series: (series.name != "loss", -len(series)))
    yield from sorted(run.series.values(), key=len, reverse=True)


def _marked(series: Series, onset: int | None) -> Telling:
    direction = better(series.name)
    bad = series.steps[~np.isfinite(series.values)]
    return Telling(series, direction, onset, best_position(series), bad)


def best_position(series: Series) -> int | None:
    """The position of a metric's best value; None where it is not known what is better."""
    direction = better(series.name)
    if direction is None or not np.isfinite(series.values).any():
        return None
    worst = -np.inf if direction == "higher" else np.inf
    values = np.where(np.isfinite(series.values), series.values, worst)
    return int(np.argmax(values) if direction == "higher" else np.argmin(values))
