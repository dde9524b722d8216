"""The loss ends many times above the level it had reached, without a spike and without leaving its beginning.

## What it checks
A positive loss in its logarithm: the median of its last tenth is at least thirty times the median of its
best tenth, which came before, and the way between is a climb over at least a fifth of the run. A loss that
ends above its beginning is a divergence, which another rule reports.

## Why it matters
The run had the better weights and walked away from them. Near a minimum Adam's second moment shrinks, and
every update has the length of the rate, however small the gradient is. A rate that is not lowered then
carries the weights out again.

## When it is harmless
A task that becomes harder, an adversarial loss and rewards are not looked at; nor is a single spike, which
does not climb. On held-out data the run may be no worse: a loss of 1e-12 is not better than one of 1e-9 for
anything.

## References
- Adam's update is the rate times the mean gradient over its own size.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.robust_stats import smoothed
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.curriculum import Curriculum
from stethoscope.signals.loss import TrainLoss

RULE = Rule(code="LOS151", since="0.2", severity=Severity.WARNING)

LEAST_POINTS = 60
PART = 0.1  # of the run, for a level
TIMES = 30.0  # the last level over the best one
WAY = 0.2  # of the run that the climb takes
BELOW_START = 0.5  # of the first level, in which the end must still lie


def examine(loss: TrainLoss, curriculum: Curriculum | None) -> Iterator[Finding]:
    """Fire where the loss climbed far above its best level and stayed below its first one."""
    series = loss.series.finite()
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"{len(series)} values of the loss are too few to see a climb")
    if curriculum is not None or not loss.measures_progress or series.values.min() <= 0.0:
        return
    width = max(3, int(PART * len(series)))
    level = np.exp(smoothed(np.log(series.values), width))
    best = int(np.argmin(level))
    last = float(np.median(series.values[-width:]))
    if last < TIMES * level[best] or last > BELOW_START * float(np.median(series.values[:3])):
        return
    half = np.flatnonzero(level[best:] >= np.sqrt(level[best] * last))
    if len(half) == 0 or half[0] < WAY * len(series) / 2:
        return
    step = int(series.steps[best])
    yield Finding(
        series.where(step, int(series.steps[-1])),
        f"{series.name} is {level[best]:.3g} around step {step:,} and climbs to {last:.3g} by the end, "
        f"{last / level[best]:.3g} times as much",
        {"best": float(level[best]), "best_step": step, "last": last},
        onset=step,
    )
