"""What the steps of the run should have gained, by their rate and their gradients, and what they did.

## What it checks
A loss from random weights that falls by a tenth at most, beside a learning rate and a gradient norm. A step
of plain gradient descent gains about the rate times the squared norm, a step of an adaptive optimizer at
least the rate times the norm. The rule adds the smaller of the two up over the first fifth of the run, and
says whether that is as much as the whole loss (much), or next to nothing of it (little).

## Why it matters
Where steps that should have gained much have gained nothing, they do not arrive: the gradients are clipped,
the weights belong to no optimizer, or what the gradients say is noise. Where they could not have gained
anything, the rate is too low, or the gradients are too small to begin with.

## When it is harmless
The sum counts noise as progress and knows nothing of the curvature. It is only a note, about losses that
hardly fall, which tells causes apart.

## References
- Nocedal and Wright, "Numerical Optimization", 2006, section 3.1
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.grad_norm import GradNorm
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.starting_point import StartingPoint

RULE = Rule(code="LOS762", since="0.8", severity=Severity.NOTE)

LEAST_POINTS = 10
HARDLY = 0.9  # of the first level
EARLY = 0.2  # of the run
MUCH = 0.5  # of the first level, by the first steps alone
LITTLE = 0.02  # of it
HIGH_RATE = 0.03  # of any optimizer but plain descent in large batches
TINY_RATE = 1e-5  # of an optimizer that trains from nothing; below it the rate is to blame


def examine(loss: TrainLoss, rates: LearningRate, norm: GradNorm, start: StartingPoint) -> Iterator[Finding]:
    """Note what the first steps of a loss that hardly falls should have gained."""
    series, rate, norms = loss.series.finite(), rates.main.finite(), norm.series.finite()
    if (
        min(len(series), len(rate), len(norms)) < LEAST_POINTS
        or len({s.axis for s in (series, rate, norms)}) > 1
    ):
        raise InsufficientData("too few losses stand beside a learning rate and a gradient norm")
    few = max(2, len(series) // 10)
    first, last = float(np.median(series.values[:few])), float(np.median(series.values[-few:]))
    if not loss.measures_progress or not start.from_scratch or first <= 0.0 or last < HARDLY * first:
        return
    if len(series) < len(loss.series) or len(norms) < len(norm.series):  # what is not finite says more
        return
    steps = np.arange(
        int(norms.steps[0]), int(norms.steps[0] + EARLY * (norms.steps[-1] - norms.steps[0])) + 1
    )
    gains = np.interp(steps, norms.steps, np.minimum(norms.values, norms.values**2))
    promised = float(np.sum(gains * np.interp(steps, rate.steps, rate.values))) / first
    much, little = promised > MUCH, promised < LITTLE
    if not much and not little:
        return
    high = float(rate.values.max()) > HIGH_RATE
    tiny = float(rate.values.max()) < TINY_RATE
    yield Finding(
        (series.where(), norms.where(), rate.where()),
        f"the first {len(steps):,} steps should have taken {promised:.2g} times {first:.4g} off "
        f"{series.name} by their rate and gradients, and it ends at {last:.4g}",
        {
            "promised": promised,
            "much": much,
            "little": little,
            "tiny_rate": little and tiny,
            "high_rate": much and high,
        },
        onset=int(series.steps[0]),
    )
