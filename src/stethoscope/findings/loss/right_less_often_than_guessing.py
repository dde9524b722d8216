"""On training batches the network is right less often than by guessing, and on held-out data it is not.

## What it checks
The share of right answers while training beside that on held-out data: whether the first stays below half of
the lowest value of the second for most of the run, with a training loss that stands above the validation loss
or above its own start.

## Why it matters
Guesses are right once in as many times as there are classes. To be wrong more often than that takes
knowledge: the network has just learned another class, and the next batch holds none of it. So it goes where
samples come in the order of their classes, of their files or of their source.

## When it is harmless
Mixed or smoothed labels and heavy augmentation make training harder than validation, but never harder than
guessing.

## References
- Bengio, "Practical recommendations for gradient-based training of deep architectures", 2012, on shuffling
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.every_series import EverySeries
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.validation import EVALUATE_MORE, Validation

RULE = Rule(code="LOS247", since="0.5", severity=Severity.WARNING)

LEAST_POINTS = 12
LEAST_EVALUATIONS = 3
HALF = 0.5  # of the lowest share of right answers on held-out data
MOST = 0.75  # of the logged training steps


def examine(every: EverySeries, validation: Validation, loss: TrainLoss) -> Iterator[Finding]:
    """Fire where training answers are wrong more often than guesses are."""
    trained, held = every.series.get("train/accuracy"), validation.metrics.get("val/accuracy")
    if trained is None or held is None:
        raise InsufficientData(
            "the share of right answers was not logged for both training and held-out data",
            'log({"train/accuracy": ..., "val/accuracy": ...})',
        )
    right = trained.finite()
    if len(right) < LEAST_POINTS or len(held.series) < LEAST_EVALUATIONS:
        raise InsufficientData("too few shares of right answers were logged", EVALUATE_MORE)
    lowest = float(held.series.values.min())
    below = float(np.mean(right.values < HALF * lowest))
    if lowest <= 0.0 or below < MOST or not _is_bad(loss.series.finite(), validation):
        return
    usual = float(np.median(right.values))
    yield Finding(
        (right.where(), held.series.where()),
        f"{right.name} is {usual:.3g} in the middle and {held.series.name} never below {lowest:.3g}: on "
        "training batches the network is right less often than by guessing",
        {"trained": usual, "held_out": lowest, "share": below},
        onset=int(right.steps[0]),
    )


def _is_bad(train: Series, validation: Validation) -> bool:
    """Whether the training loss is worse than at the start, or than the one on held-out data."""
    if len(train) < LEAST_POINTS:
        return False
    usual, held = float(np.median(train.values)), validation.metrics.get("val/loss")
    return usual > float(train.values[0]) or (
        held is not None and usual > float(np.median(held.series.values))
    )
