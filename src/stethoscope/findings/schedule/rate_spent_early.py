"""The learning rate is spent long before the run ends.

## What it checks
The logged rate: whether it falls to a thousandth of its peak before three fifths of the run are over, and
stays there to the end.

## Why it matters
From there on nothing is learned, whatever the log says about steps. Mostly a schedule that counts epochs is
moved with every batch, or its length was taken from a shorter run.

## When it is harmless
Cycles, which rise again. Drops by a factor of ten at thirds of a run, which leave a hundredth. A run whose
last part only averages or calibrates. A schedule that cuts the rate by the same factor after stretches of
different lengths waits for plateaus: it was spent because nothing got better any more.

## References
- torch.optim.lr_scheduler
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.learning_rate import LearningRate

RULE = Rule(code="SCH102", since="0.2", severity=Severity.WARNING)

SPENT = 1e-3  # of the peak
EARLY = 0.6  # of the steps
LEAST_POINTS = 8
LEAST_LEFT = 4  # logged rates behind the end of the schedule
FEWEST_CUTS = 5  # that show a factor; nobody writes out as many milestones
SAME_FACTOR = 0.02  # relative


def examine(rates: LearningRate) -> Iterator[Finding]:
    """Fire where every group of parameters has run out of rate early."""
    series = rates.main.finite()
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"{len(series)} values of the learning rate are too few to see a schedule end")
    if any(not _is_spent(one.finite().values) for one in rates.groups.values()):
        return
    values, steps = series.values, series.steps
    if _waits_for_plateaus(values):
        return
    peak = float(values.max())
    last_alive = int(np.flatnonzero(values > SPENT * peak)[-1])
    left = len(values) - 1 - last_alive
    span = int(steps[-1] - steps[0])
    spent_at = int(steps[min(last_alive + 1, len(steps) - 1)])
    if left < LEAST_LEFT or spent_at - int(steps[0]) > EARLY * span:
        return
    yield Finding(
        series.where(spent_at, int(steps[-1])),
        f"{series.name} falls from {peak:.3g} to {float(values[last_alive + 1]):.3g} by step {spent_at:,} of "
        f"{int(steps[-1]):,} and stays there: nothing is learned behind it",
        {
            "series": series.name,
            "peak": peak,
            "spent_at": spent_at,
            "share": spent_at / max(1, int(steps[-1])),
        },
        onset=spent_at,
        proof="a thousandth of the rate moves the weights by a thousandth",
    )


def _waits_for_plateaus(values: np.ndarray) -> bool:
    """Whether a rate is cut by one factor again and again, after stretches of different lengths."""
    cuts = np.flatnonzero(np.diff(values) != 0.0)
    if len(cuts) < FEWEST_CUTS or (values <= 0.0).any():
        return False
    factors = values[cuts + 1] / values[cuts]
    held = np.diff(cuts)
    is_one_factor = bool(np.all(np.abs(factors / np.median(factors) - 1.0) < SAME_FACTOR))
    return is_one_factor and int(held.min()) > 1 and int(held.max()) > int(held.min())


def _is_spent(values: np.ndarray) -> bool:
    peak = float(values.max()) if len(values) else 0.0
    return peak > 0.0 and float(values[-1]) <= SPENT * peak
