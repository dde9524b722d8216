"""The gradient norm grows in proportion to the steps, while the loss goes its way.

## What it checks
A gradient norm of twenty values or more: the medians of eight stretches of the run, whether each is above
the one before, the last at least three times the first, and all of them near one straight line through
nothing. Or the norm stays at five times its first values and more behind the first quarter of the run.

## Why it matters
Gradients of single batches have a size of their own; a sum of many grows with their number. Somewhere
gradients are added up and never cleared. Where the loss falls all the same, it is in parameters that no
optimizer has: it clears the gradients of its own and of no others, and these parameters never move.

## When it is harmless
A network that becomes sharper as it trains has a growing norm, which follows no straight line through
nothing for a whole run. So this is a note.

## References
- torch.optim.Optimizer.zero_grad, which knows the parameters of its groups alone
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.grad_norm import GradNorm
from stethoscope.signals.loss import TrainLoss

RULE = Rule(code="NUM760", since="0.8", severity=Severity.NOTE)

FEWEST = 20
PARTS = 8
GROWS = 3.0  # times the first stretch
STRAIGHT = 0.97  # correlation of the levels with the steps
FROM_NOTHING = 0.3  # of the last level: what the line leaves at the first step
AT_FIRST = 3  # norms
FAR_ABOVE = 5.0  # times the first norms, where it stays: single gradients seldom grow so far
LOWEST = 10  # per cent of the later norms may lie below
SINKS = 2.0  # times the size of its first value: how far below zero a loss lies that has no lowest value
RISES = 1.2  # times its first level: a loss that stands above has troubles of its own


def examine(norm: GradNorm, loss: TrainLoss) -> Iterator[Finding]:
    """Note a norm that is proportional to the step."""
    series = norm.series.finite()
    if len(series) < FEWEST:
        raise InsufficientData(f"{len(series)} gradient norms are too few to follow")
    train = loss.series.finite().values
    sinks = len(train) > 0 and float(train[-1]) < -SINKS * abs(float(train[0]))
    medians = np.array([float(np.median(part)) for part in np.array_split(series.values, PARTS)])
    centres = np.array([float(np.mean(part)) for part in np.array_split(series.steps, PARTS)])
    if medians[0] <= 0.0 or medians[-1] < GROWS * medians[0] or not bool(np.all(np.diff(medians) > 0.0)):
        yield from _far_above_its_start(series, sinks)
        return
    straight = float(np.corrcoef(centres, medians)[0, 1])
    slope, left = (float(number) for number in np.polyfit(centres - int(series.steps[0]), medians, 1))
    if straight < STRAIGHT or abs(left) > FROM_NOTHING * medians[-1]:
        yield from _far_above_its_start(series, sinks)
        return
    rises = len(train) > 0 and float(np.median(train[-max(1, len(train) // 8) :])) > RISES * float(train[0])
    yield Finding(
        series.where(),
        f"{series.name} grows by {slope:.3g} a step, from {medians[0]:.3g} to {medians[-1]:.3g}, like a sum "
        "of gradients that is never cleared",
        {"slope": slope, "straight": straight, "loss_rises": bool(rises), "loss_sinks": sinks},
        onset=int(series.steps[0]),
    )


def _far_above_its_start(series: Series, sinks: bool) -> Iterator[Finding]:
    """A norm that climbs many times over and stays there: a sum that the steps themselves hold in check."""
    first = float(np.median(series.values[:AT_FIRST]))
    later = series.values[len(series) // 4 :]
    if first <= 0.0 or float(np.percentile(later, LOWEST)) < FAR_ABOVE * first:
        return
    yield Finding(
        series.where(),
        f"{series.name} begins at {first:.3g} and stays around {np.median(later):.3g}: gradients may be "
        "summed up from step to step",
        {"first": first, "later": float(np.median(later)), "loss_rises": None, "loss_sinks": sinks},
        onset=int(series.steps[0]),
    )
