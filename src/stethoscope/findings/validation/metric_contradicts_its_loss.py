"""A share of right answers is lower than its own loss allows.

## What it checks
An answer that is wrong has given the right class at most half of the probability, so it costs at least ln 2 =
.69. A mean cross-entropy of L therefore leaves at most L / .69 of the answers wrong. The rule compares the
accuracy of the validation with this bound, where the training shows that the loss is such a one: there the
same pair obeys the bound, with a small loss and a high accuracy.

## Why it matters
Loss and accuracy are measured on the same answers: if they contradict each other, one of them is computed
wrongly, and the model may be as good as the loss says.

## When it is harmless
Losses that are smaller than a cross-entropy (focal, masked, per label or per pixel) obey no such bound;
without the training's own pair to show it, nothing is said.

## References
- The bound follows from Markov's inequality on the loss of one answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.every_series import EverySeries
from stethoscope.signals.validation import Validation

RULE = Rule(code="VAL104", since="0.2", severity=Severity.CRITICAL)

SMALL = 0.35  # a loss at which half of the answers at least are right
MARGIN = 0.15  # of all answers: another split, dropout or smoothing move less
ACCURACIES = ("accuracy", "acc", "acc1", "top1", "top1_acc")
MOSTLY = 0.9  # of the training batches with a small loss; dropout moves a few across the bound
LAST = 3  # evaluations whose median is the level at the end


def examine(validation: Validation, every: EverySeries) -> Iterator[Finding]:
    """Fire where validation breaks the bound that training keeps."""
    loss = validation.metrics.get("val/loss")
    name = next((one for one in ACCURACIES if f"val/{one}" in validation.metrics), None)
    if loss is None or name is None or len(loss.series) < LAST:
        raise InsufficientData("no validation loss was logged beside an accuracy")
    accuracy = validation.metrics[f"val/{name}"].series
    trained = (every.series.get("loss"), every.series.get(f"train/{name}"))
    if trained[0] is None or trained[1] is None:
        raise InsufficientData("the accuracy of the training was not logged beside its loss")
    right = _kept_in_training(trained[0].finite(), trained[1].finite())
    if right is None:
        return
    low, measured = _level(loss.series), _level(accuracy)
    if low > SMALL or measured > _bound(low) - MARGIN:
        return
    yield Finding(
        (accuracy.where(), loss.series.where()),
        f"{accuracy.name} is {measured:.3g} where {loss.series.name} is {low:.3g}, which leaves at least "
        f"{_bound(low):.0%} of the answers right",
        {"accuracy": measured, "loss": low, "least": _bound(low), "in_training": right},
        proof="a wrong answer costs a cross-entropy of ln 2 at least",
    )


def _kept_in_training(loss: Series, accuracy: Series) -> float | None:
    """The accuracy at the end of training, where small losses keep the bound; None where they do not."""
    _, ours, theirs = np.intersect1d(loss.steps, accuracy.steps, return_indices=True)
    losses, shares = loss.values[ours], accuracy.values[theirs]
    small = losses <= SMALL
    if np.count_nonzero(small) < LAST or float(shares.max()) > 1.0:
        return None
    keeps = shares[small] >= 1.0 - losses[small] / math.log(2.0)
    return float(np.median(shares[-LAST:])) if float(keeps.mean()) >= MOSTLY else None


def _bound(loss: float) -> float:
    return 1.0 - loss / math.log(2.0)


def _level(series: Series) -> float:
    return float(np.median(series.finite().values[-LAST:]))
