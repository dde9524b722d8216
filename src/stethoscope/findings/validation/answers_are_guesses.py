"""Loss and accuracy on held-out data are those of guessing, to the end of the run.

## What it checks
A held-out loss beside a share of right answers, over the second half of five evaluations or more: whether
every share is one of so many classes, 1 / C, and every loss that of giving each of them the same chance, ln
C, while the training loss is no lower. The number of classes need not be known: both must agree on one.

## Why it matters
Such a network gives the same answer to everything. Large first steps have thrown its weights away, its
units are dead, its gradients do not arrive, or labels belong to other samples.

## When it is harmless
A run that was stopped early, while the rate still warms up. Classes that are far from balanced have another
level, at which nothing is said.

## References
- Karpathy, "A recipe for training neural networks", 2019: verify the loss at the start
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from stethoscope.findings._first_steps import moved_nowhere
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.validation import EVALUATE_MORE, Validation

RULE = Rule(code="VAL763", since="0.8", severity=Severity.WARNING)

SHARES = ("accuracy", "acc", "acc1", "top1", "top1_acc")
LEAST_EVALUATIONS = 5
LEAST_POINTS = 8
MOST_CLASSES = 200  # beyond, a share is too coarse to tell their number
NEAR_LOSS = 0.03  # relative to ln C
NEAR_SHARE = 0.25  # relative to 1 / C: that of one class among some hundred samples
NO_LOWER = 0.93  # times ln C: the training loss
SETTLED = 0.5  # of the run


def examine(validation: Validation, loss: TrainLoss, rates: LearningRate | None) -> Iterator[Finding]:
    """Fire where nothing better than guessing was learned."""
    held = validation.metrics.get("val/loss")
    share = next((validation.metrics[f"val/{n}"] for n in SHARES if f"val/{n}" in validation.metrics), None)
    if held is None or share is None or min(len(held.series), len(share.series)) < LEAST_EVALUATIONS:
        raise InsufficientData("no accuracy was evaluated beside a loss, or too rarely", EVALUATE_MORE)
    train = loss.series.finite()
    if len(train) < LEAST_POINTS or (rates is not None and rates.still_warming_up):
        raise InsufficientData("too little of the training was logged")
    if not loss.measures_progress:
        return
    shares = _second_half(share.series) / (100.0 if float(share.series.values.max()) > 1.0 else 1.0)
    losses, level = _second_half(held.series), float(np.median(shares))
    classes = round(1.0 / level) if level > 1.0 / MOST_CLASSES else 0
    if classes < 2 or not _all_near(shares, 1.0 / classes, NEAR_SHARE):
        return
    guessing = math.log(classes)
    if not _all_near(losses, guessing, NEAR_LOSS) or float(np.median(train.values[len(train) // 2 :])) < (
        NO_LOWER * guessing
    ):
        return
    yield Finding(
        (held.series.where(), share.series.where(), train.where()),
        f"{held.series.name} stands at {float(np.median(losses)):.4g} and {share.series.name} at "
        f"{level:.3g}, as guessing among {classes} does: ln {classes} = {guessing:.4g}",
        {"classes": classes, "loss": float(np.median(losses)), "share": level, "quiet": moved_nowhere(train)},
        onset=int(held.series.steps[0]),
    )


def _second_half(series: Series) -> np.typing.NDArray[np.float64]:
    return series.values[int(SETTLED * len(series)) :]


def _all_near(values: np.typing.NDArray[np.float64], level: float, within: float) -> bool:
    return bool(np.all(np.abs(values - level) <= within * level))
