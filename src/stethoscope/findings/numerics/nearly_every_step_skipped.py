"""Nearly every update is skipped, so that nothing is learned any more.

## What it checks
A logged flag or count of skipped steps: whether at least nine of ten steps were skipped through the last
third of the run.

## Why it matters
A guard that skips bad steps protects a run; one that skips all of them ends it without a word. A fixed limit
below the usual gradient norm does so, and so do running statistics that took in one NaN.

## When it is harmless
A loss scaler skips its first dozen steps while it looks for its scale.

## References
- torch.amp.GradScaler
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.every_series import EverySeries
from stethoscope.signals.skipped_steps import SkippedSteps

RULE = Rule(code="NUM140", since="0.2", severity=Severity.CRITICAL)

LEAST_POINTS = 12
LAST = 1 / 3  # of the log
NEARLY = 0.9  # of the steps


def examine(every: EverySeries, skips: SkippedSteps) -> Iterator[Finding]:
    """Fire where the last third of a run has hardly an update."""
    counter = every.series.get("skipped")
    if counter is None or skips.source != "skipped":
        raise InsufficientData("skipped steps were not counted", 'log({"skipped": skipped_steps})')
    counter = counter.finite()
    if len(counter) < LEAST_POINTS:
        raise InsufficientData(f"cannot tell from {len(counter)} values of the count of skipped steps")
    begins = len(counter) - int(len(counter) * LAST)
    share = _share(counter, begins)
    if share < NEARLY:
        return
    last = int(counter.steps[-1])
    yield Finding(
        counter.where(int(counter.steps[begins]), last),
        f"{share:.0%} of the steps from {int(counter.steps[begins])} to {last} were skipped",
        evidence={"share": share, "by": skips.by},
        onset=_onset(counter, begins),
        proof="a step that is skipped changes no weight",
    )


def _share(counter: Series, begins: int) -> float:
    """The share of steps that were skipped from a place on, by a flag or by a count of all so far."""
    values = counter.values[begins:]
    if np.isin(counter.values, (0.0, 1.0)).all():
        return float(values.mean())
    steps = float(counter.steps[-1] - counter.steps[begins])
    return (
        min(1.0, float(values[-1] - values[0]) / steps) if steps > 0 and np.all(np.diff(values) >= 0) else 0.0
    )


def _onset(counter: Series, begins: int) -> int:
    """Where the skips that never end begin."""
    if not np.isin(counter.values, (0.0, 1.0)).all():
        return int(counter.steps[begins])
    applied = np.flatnonzero(counter.values == 0.0)
    first = int(applied[applied < begins][-1]) + 1 if np.any(applied < begins) else 0
    return int(counter.steps[min(first, len(counter) - 1)])
