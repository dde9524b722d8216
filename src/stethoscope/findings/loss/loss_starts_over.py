"""In the middle of the run the loss leaps back to where it began, and is learned down once more.

## What it checks
A training loss of forty values or more that had lost half of its first level. It fires where the loss leaps,
from one logged value to the next, to within a tenth of the first level, and the values behind the leap go
down the way that those at the start went: at no place further apart than a quarter of what is learned.

## Why it matters
What was learned is gone. A resume began with new weights, or something made the network anew, and the run
pays for its beginning twice.

## When it is harmless
New data or a new stage has a level of its own, and a network that knows something learns it along another
curve. A rate that is raised unsettles a loss and does not send it back to its start. Folds and runs that are
logged into one file begin anew on purpose, and count their steps anew.

## References
- torch.nn.Module.load_state_dict
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.detectors.starting_over import LEAST_POINTS, starts_over
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.loss import TrainLoss

RULE = Rule(code="LOS382", since="0.7", severity=Severity.CRITICAL)


def examine(loss: TrainLoss) -> Iterator[Finding]:
    """Fire on the leap back to the beginning."""
    series = loss.series.finite()
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
