"""The validation loss ends far below the training loss.

## What it checks
The level of `val/loss` over the last quarter of the run, beside that of the training loss: whether it is
below four fifths of it. It says whether the training loss itself has fallen by little only.

## Why it matters
Held-out data are not easier than those that were trained on. What makes training the harder of the two is
something that only training sees: labels that do not belong to their inputs, a loss that gets its outputs
in another form, samples that were spoiled.

## When it is harmless
Dropout, augmentation, label smoothing, mixing of samples and extra terms make the training loss higher on
purpose, and a mean over an epoch lags behind. So this is only a note, which ranks causes.

## References
- Zhang and others, "Understanding deep learning requires rethinking generalization", 2017
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.validation import Validation

RULE = Rule(code="VAL760", since="0.8", severity=Severity.NOTE)

LEAST_EVALUATIONS = 4
LEAST_POINTS = 8
BELOW = 0.8  # of the training loss
LITTLE = 0.6  # of its first level: what a loss that falls little ends above
FAR_OFF = 0.1  # of the training loss: such a loss is measured in other units
RISES = 1.2  # times the first level: such a loss rises
LAST = 0.25  # of the run


def examine(loss: TrainLoss, validation: Validation) -> Iterator[Finding]:
    """Note held-out data that are far easier than training."""
    held = validation.metrics.get("val/loss")
    train = loss.series.finite()
    if held is None or len(held.series) < LEAST_EVALUATIONS or len(train) < LEAST_POINTS:
        raise InsufficientData("no validation loss was logged beside the training loss")
    if not loss.measures_progress:
        return
    first, trained, measured = float(np.median(train.values[:3])), _end(train), _end(held.series)
    if (
        min(first, trained) <= 0.0
        or trained > RISES * first
        or not FAR_OFF * trained < measured < BELOW * trained
    ):
        return
    yield Finding(
        (held.series.where(), train.where()),
        f"{held.series.name} ends at {measured:.4g}, and {train.name} at {trained:.4g}",
        {
            "trained": trained,
            "measured": measured,
            "falls_little": trained > LITTLE * first,
        },
    )


def _end(series: Series) -> float:
    return float(np.median(series.values[-max(2, int(LAST * len(series))) :]))
