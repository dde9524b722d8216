"""The one curve that shows best what happened, with the steps worth marking on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stethoscope.causes.verdict import stands
from stethoscope.diagnose import Diagnosis
from stethoscope.run import Run, Series
from stethoscope.run.names import better

FEWEST_POINTS = 3  # fewer make no curve


@dataclass(frozen=True, slots=True, eq=False)
class Telling:
    """A curve, and the steps to mark: where the trouble begins, the best value, what is not finite."""

    series: Series
    better: str | None
    onset: int | None
    best: int | None  # the position of the best value
    non_finite: tuple[int, ...]


def telling_series(diagnosis: Diagnosis) -> Telling | None:
    """The curve of the leading cause's evidence, else of a finding, else the validation metric or loss."""
    run = diagnosis.run
    for series, onset in _candidates(diagnosis):
        if len(series) >= FEWEST_POINTS and np.isfinite(series.values).any():
            return _marked(series, onset if onset is not None else _onset_on(series, diagnosis))
    shown = next((series for series in _usual(run) if len(series) >= FEWEST_POINTS), None)
    return _marked(shown, None) if shown is not None else None


def _candidates(diagnosis: Diagnosis) -> Iterator[tuple[Series, int | None]]:
    """The curves the evidence points at: of causes that stand, then of findings, then of other causes."""
    causes = diagnosis.explanation.causes
    standing = [cause for cause in causes if stands(cause)]
    findings = [
        argument.finding for cause in standing for argument in cause.arguments_for if argument.finding
    ]
    findings += [found.finding for found in diagnosis.explanation.symptoms]
    pointed = [
        (place.series, finding.onset) for finding in findings for place in finding.places if place.series
    ]
    # What a person judges a run by, before what explains it.
    for prefix in ("val/", "loss", ""):
        for name, onset in pointed:
            series = diagnosis.run.series.get(name)
            if series is not None and name.startswith(prefix):
                yield series, onset


def _onset_on(series: Series, diagnosis: Diagnosis) -> int | None:
    onsets = [
        cause.onset for cause in diagnosis.explanation.causes if stands(cause) and cause.onset is not None
    ]
    inside = [onset for onset in onsets if int(series.steps[0]) <= onset <= int(series.steps[-1])]
    return min(inside, default=None)


def _usual(run: Run) -> Iterator[Series]:
    judged = [series for name, series in run.series.items() if name.startswith("val/") and better(name)]
    yield from sorted(judged, key=len, reverse=True)
    losses = [series for name, series in run.series.items() if name == "loss" or name.startswith("loss/")]
    yield from sorted(losses, key=lambda series: (series.name != "loss", -len(series)))
    yield from sorted(run.series.values(), key=len, reverse=True)


def _marked(series: Series, onset: int | None) -> Telling:
    direction = better(series.name)
    finite = np.isfinite(series.values)
    bad = tuple(int(step) for step in series.steps[~finite])
    return Telling(series, direction, onset, _best(series, direction), bad)


def _best(series: Series, direction: str | None) -> int | None:
    if direction is None or not np.isfinite(series.values).any():
        return None
    worst = -np.inf if direction == "higher" else np.inf
    values = np.where(np.isfinite(series.values), series.values, worst)
    return int(np.argmax(values) if direction == "higher" else np.argmin(values))
