"""Training learns far, and the validation loss wanders about where it began.

## What it checks
A run from random weights whose training loss falls to a quarter or less. Both losses begin at a similar
level, and the validation loss is never clearly below its first three values: its three best evaluations lie
above four fifths of them, and the last half does so as a whole.

## Why it matters
Whoever overfits learns something general first, and the validation shows it for a while. One that shows
nothing at any time is not about what is trained: it is given other inputs, other weights or the network in
another mode, or there is nothing general to learn, as with labels that belong to other samples.

## When it is harmless
A first evaluation that comes late has little left to gain; so nothing is said where it lies well below the
first training loss. Trained weights have little to gain either.

## References
- Zhang et al., "Understanding deep learning requires rethinking generalization", 2017
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.starting_point import StartingPoint
from stethoscope.signals.validation import EVALUATE_MORE, Validation

RULE = Rule(code="VAL215", since="0.4", severity=Severity.WARNING)

LEAST_EVALUATIONS = 6
LEAST_POINTS = 8
LEARNS = 0.25  # of the first training loss
ALIKE = (0.7, 2.0)  # times the first training loss: the first validation loss
GAINED = 0.8  # of the first validation loss: what is above has gained nothing
STAYS = 0.9  # of it, for the last half as a whole
RISES = 1.3  # times the first validation loss: a network that is sure of what it learned by heart
KNOWS = 0.93  # of the first training loss: a first validation loss below that has learned something
FEW = 3  # values that make a level


def examine(validation: Validation, loss: TrainLoss, start: StartingPoint) -> Iterator[Finding]:
    """Fire on a validation loss that never follows the training loss."""
    metric = validation.metrics.get("val/loss")
    if metric is None:
        raise InsufficientData("no validation loss was logged")
    held, train = metric.series, loss.series.finite()
    if len(held) < LEAST_EVALUATIONS or len(train) < LEAST_POINTS:
        raise InsufficientData(f"cannot tell with {len(held)} evaluations", EVALUATE_MORE)
    if not start.from_scratch:
        raise InsufficientData("the weights were not random at the first logged step")
    begun, ended = float(train.values[:FEW].max()), float(np.median(train.values[-len(train) // 20 :]))
    first, best = float(np.median(held.values[:FEW])), float(np.median(np.sort(held.values)[:FEW]))
    late = float(np.median(held.values[len(held) // 2 :]))
    if not loss.measures_progress or begun <= 0.0 or ended > LEARNS * begun:
        return
    if not ALIKE[0] * begun <= first <= ALIKE[1] * begun or best < GAINED * first or late < STAYS * first:
        return
    yield Finding(
        (held.where(), train.where()),
        f"{held.name} is {late:.4g} in the last half of the run and was {first:.4g} at first, while "
        f"{train.name} falls from {begun:.4g} to {ended:.4g}",
        {
            "first": first,
            "best": best,
            "late": late,
            "train_first": begun,
            "train_last": ended,
            "rises": late > RISES * first,
            "learned_some": late > RISES * first or first < KNOWS * begun,
        },
        onset=int(held.steps[0]),
    )
