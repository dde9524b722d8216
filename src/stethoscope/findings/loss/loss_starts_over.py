"""In the middle of the run the loss leaps back to where it began, and is learned down once more.

## What it checks
A training loss of forty values or more that had lost half of its first level. It fires where the loss leaps,
from one logged value to the next, to within 15 % of the first level, and the values behind the leap go
down the way that those at the start went: at no place further apart than a quarter of what is learned. In a
shorter log, of one line for each epoch, a validation loss has to lose most of what it had gained at the same
line and to gain it again, while the rate does not rise.

## Why it matters
What was learned is gone. A resume began with new weights, or something made the network anew, and the run
pays for its beginning twice.

## When it is harmless
New data or a new stage has a level of its own, and a network that knows something learns it along another
curve. A rate that is raised unsettles a loss and does not send it back to its start. Folds and runs that are
logged into one file begin anew on purpose: a loss that begins anew again, after as many values, is theirs.

## References
- torch.nn.Module.load_state_dict
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.common_axis import on_axis_of
from stethoscope.detectors.starting_over import LEAST_POINTS, starts_over, starts_over_in_lines
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.curriculum import Curriculum
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.validation import Validation

RULE = Rule(code="LOS382", since="0.7", severity=Severity.CRITICAL)


RISES = 1.5  # times the rate before: one that begins a new cycle unsettles what was learned


def examine(
    loss: TrainLoss,
    validation: Validation | None,
    rates: LearningRate | None,
    curriculum: Curriculum | None,
) -> Iterator[Finding]:
    """Fire on the leap back to the beginning."""
    series = loss.series.finite()
    held = validation.metrics.get("val/loss") if validation is not None else None
    if held is not None and curriculum is None and len(series) < LEAST_POINTS and loss.measures_progress:
        yield from _by_line(series, held.series, rates)
        return
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"{len(series)} values of the loss are too few to see it begin twice")
    if not loss.measures_progress:
        return
    found = starts_over(series.values)
    if found is None:
        return
    step = int(series.steps[found.at])
    yield Finding(
        series.where(step, int(series.steps[-1])),
        f"{series.name} leaps from {found.before:.4g} to {found.after:.4g} at step {step:,}, where it began "
        f"with {found.first:.4g}, and falls again as it did at the start",
        {"before": found.before, "after": found.after, "first": found.first, "apart": found.apart},
        onset=step,
    )


def _by_line(series: Series, held: Series, rates: LearningRate | None) -> Iterator[Finding]:
    """Both losses, where each line has the two, leap back and fall again."""
    lines = on_axis_of(series, held)
    values = np.array(
        [held.values[np.flatnonzero(held.steps == step)[0]] for step in lines if step in held.steps]
    )
    if len(values) != len(series):
        raise InsufficientData("too few losses stand beside a validation loss to see one begin twice")
    at = starts_over_in_lines(series.values, values)
    if at is None or _rises(rates, held, int(lines[at])):
        return
    before, after, first = (float(series.values[place]) for place in (at - 1, at, 0))
    yield Finding(
        (series.where(int(series.steps[at])), held.where(int(lines[at]))),
        f"{series.name} leaps from {before:.4g} to {after:.4g} at step {int(series.steps[at]):,}, where it "
        f"began with {first:.4g}, {held.name} from {values[at - 1]:.4g} to {values[at]:.4g}, and both fall "
        "again",
        {"before": before, "after": after, "first": first},
        onset=int(series.steps[at]),
        severity=Severity.WARNING,
    )


def _rises(rates: LearningRate | None, held: Series, step: int) -> bool:
    if rates is None:
        return False
    rate = rates.main.finite()
    steps = on_axis_of(rate, held)
    before, behind = rate.values[steps < step], rate.values[steps >= step]
    return len(before) > 0 and len(behind) > 0 and float(behind[:2].max()) > RISES * float(before[-1])
