"""The training loss is below zero, and the error on held-out data grows.

## What it checks
A training loss that is negative all through the second half of the run, beside a validation loss that is
positive at every evaluation: whether the validation loss ends at half again its first value or more, and its
best evaluation is among the first.

## Why it matters
An error is never negative. A training loss below zero holds a term that is wanted as large as possible, and
where that term is the error itself, or a similarity with the wrong sign, the network is trained to be wrong:
the loss falls, and every evaluation of a true error is worse than the one before.

## When it is harmless
The log-likelihood of a density may be negative, and so may the loss of similarities; the same loss on
held-out data is then negative, too, or an error beside it falls. Where no true error grows, nothing is said.

## References
- `torch.nn.CosineSimilarity`: 1 for what is alike, so that a loss of it is one minus it
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.validation import EVALUATE_MORE, Validation

RULE = Rule(code="LOS560", since="0.9", severity=Severity.WARNING)

LEAST_EVALUATIONS = 5
LEAST_POINTS = 8
GROWS = 1.5  # times the first validation loss
EARLY = 0.34  # of the evaluations: the best is among them
LAST = 3  # evaluations whose median is the end


def examine(loss: TrainLoss, validation: Validation) -> Iterator[Finding]:
    """Fire where what is minimised is negative, and what is measured grows."""
    metric = validation.metrics.get("val/loss")
    if metric is None:
        raise InsufficientData("no validation loss was logged", 'log({"val/loss": ...})')
    held, train = metric.series, loss.series.finite()
    if len(held) < LEAST_EVALUATIONS or len(train) < LEAST_POINTS:
        raise InsufficientData(f"cannot tell with {len(held)} evaluations", EVALUATE_MORE)
    if not loss.measures_progress or float(train.values[len(train) // 2 :].max()) >= 0.0:
        return
    first, last = float(held.values[0]), float(np.median(held.values[-LAST:]))
    best_at = int(np.argmin(held.values))
    if float(held.values.min()) <= 0.0 or last < GROWS * first or best_at > EARLY * len(held):
        return
    yield Finding(
        (train.where(), held.where()),
        f"{train.name} falls to {float(train.values[-1]):.4g}, below what any error can be, while "
        f"{held.name} grows from {first:.4g} to {last:.4g}",
        {"first": first, "last": last, "train_last": float(train.values[-1])},
        onset=int(held.steps[0]),
    )
