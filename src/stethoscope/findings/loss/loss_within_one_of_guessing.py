"""The loss begins at that of guessing and comes to rest within one of it.

## What it checks
A training loss whose first value is the logarithm of a whole number of classes C, up to fifty, to a
hundredth: whether it comes to rest below that, and not one value lies below ln(e + C - 1) - 1, the least that
a softmax of a softmax can give.

## Why it matters
Probabilities given to a loss that takes logits allow it to fall by less than one. What keeps it there may
also be labels that are mostly wrong, or a part of the network that does not learn.

## When it is harmless
Labels that are smoothed, text and other things that can be told only in part have such a floor by rights, and
the first loss of a well-made network is that of guessing. So this is only a note.

## References
- torch.nn.CrossEntropyLoss
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.levels import levels
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.starting_point import StartingPoint

RULE = Rule(code="LOS851", since="0.9", severity=Severity.NOTE)

LEAST_POINTS = 20
MOST_CLASSES = 50  # among more, any first loss fits some number of them
TOLD = 0.01  # by which the first loss may miss that of guessing
EXACTLY = 0.004  # probabilities differ too little to make more of a difference
BELOW = 0.99  # of the floor
LEAST_FALL = 0.05
RESTS = 0.15  # of the fall, at most, comes in the second half


def examine(loss: TrainLoss, start: StartingPoint) -> Iterator[Finding]:
    """Note a loss between that of guessing and the floor of a second softmax."""
    series = loss.series.finite()
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"{len(series)} values of the loss are too few to see a floor")
    if not loss.measures_progress or not start.from_scratch or len(loss.terms) > 1:
        return
    first, level = float(series.values[0]), levels(series.values)
    classes = round(math.exp(min(first, 10.0)))
    if not 2 < classes <= MOST_CLASSES or abs(first - math.log(classes)) > TOLD:
        return
    floor, fall = math.log(math.e + classes - 1.0) - 1.0, first - float(level[-1])
    rests = float(level[len(level) // 2] - level[-1]) <= RESTS * fall
    if fall < LEAST_FALL or not rests or float(np.min(series.values)) < BELOW * floor:
        return
    yield Finding(
        series.where(),
        f"{series.name} begins at {first:.4g}, as guessing among {classes} does, comes to rest at "
        f"{level[-1]:.4g} and is never below {floor:.4g}, where a softmax of a softmax ends",
        {
            "classes": classes,
            "floor": floor,
            "first": first,
            "last": float(level[-1]),
            "exactly": abs(first - math.log(classes)) <= EXACTLY,
        },
        onset=int(series.steps[0]),
    )
