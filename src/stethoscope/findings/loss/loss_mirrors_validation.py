"""The training loss is the negative of the validation loss, and runs away with it.

## What it checks
A training loss that falls below zero while the validation loss stays above it, over five evaluations or more:
whether the one is the other with the sign turned, to a factor of ten, at every evaluation, while the
validation loss grows to thirty times its first value, each in the measure of the other.

## Why it matters
What is minimised is the negative of what is measured. Each step makes the error larger, without an end.

## When it is harmless
A likelihood or a similarity is negative by rights, and its validation is negative with it. A density that is
learned by heart has a training loss below zero and a validation loss that runs away; the one does not grow
as the other does.

## References
- torch.nn.functional.mse_loss
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.common_axis import on_axis_of
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Values
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.validation import EVALUATE_MORE, Validation

RULE = Rule(code="LOS381", since="0.7", severity=Severity.CRITICAL)

LEAST_EVALUATIONS = 5
SAME_SIZE = 10.0  # times larger or smaller, at most: the mean of an epoch lags behind its end
GROWS = 30.0  # times the first validation loss
TOGETHER = 0.95  # the correlation of the two sizes


def examine(loss: TrainLoss, validation: Validation) -> Iterator[Finding]:
    """Fire where every evaluation is what training has made of it, with the sign turned."""
    metric = validation.metrics.get("val/loss")
    if metric is None:
        raise InsufficientData("no validation loss was logged", 'log({"val/loss": ...})')
    held, train = metric.series, loss.series.finite()
    if len(held) < LEAST_EVALUATIONS or len(train) < LEAST_EVALUATIONS:
        raise InsufficientData(f"cannot tell with {len(held)} evaluations", EVALUATE_MORE)
    if float(held.values[0]) <= 0.0 or float(held.values[-1]) < GROWS * float(held.values[0]):
        return
    at = np.searchsorted(on_axis_of(train, held), held.steps, side="right") - 1
    beside = train.values[np.clip(at, 0, None)]
    if loss.reinforced or not _is_mirrored(-beside, held.values):
        return
    yield Finding(
        (train.where(), held.where()),
        f"{train.name} falls to {float(train.values[-1]):.4g} while {held.name} rises from "
        f"{float(held.values[0]):.4g} to {float(held.values[-1]):.4g}: the one is the other's negative",
        {
            "train_last": float(train.values[-1]),
            "first": float(held.values[0]),
            "last": float(held.values[-1]),
        },
        onset=int(held.steps[0]),
        proof="the loss that is minimised is the negative of the error that is measured",
    )


def _is_mirrored(turned: Values, held: Values) -> bool:
    """Whether two positive curves have the same size at every place, and grow together."""
    if not bool((turned > 0.0).all() and (held > 0.0).all()):
        return False
    ours, theirs = np.log(turned), np.log(held)
    close = bool((np.abs(ours - theirs) <= math.log(SAME_SIZE)).all())
    return close and bool(np.corrcoef(ours, theirs)[0, 1] >= TOGETHER)
