"""Less than half of what is learned holds on held-out data.

## What it checks
A validation loss in the unit of the training loss, in a training from random weights whose loss falls to
half of its first value or less: whether the validation loss ends less than half as far below that first
value. It says whether the validation loss ever gained a fifth, and whether next to nothing is left of the
training loss.

## Why it matters
What is gained on training data alone is of no use elsewhere. Where next to nothing is left of the training
loss, or held-out data gained at first, the data are too few, or come again and again. Where they never
gained anything, they are of another kind or prepared in another way than the data of the training.

## When it is harmless
A classifier that grows ever more certain loses on the few samples that it gets wrong, and is no worse: where
a share of right or explained answers ends high, nothing is said. Tuning a trained model begins low and has
little to gain.

## References
- Zhang et al., "Understanding deep learning requires rethinking generalization", 2017
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.loss import TrainLoss, words
from stethoscope.signals.starting_point import StartingPoint
from stethoscope.signals.validation import EVALUATE_MORE, Metric, Validation

RULE = Rule(code="VAL980", since="0.9", severity=Severity.WARNING)

LEAST_EVALUATIONS = 4
LEAST_POINTS = 8
FALLS = 0.5  # of the first training loss, or less, is what the training loss comes down to
HOLDS = 0.5  # of what training gained, at least, is gained elsewhere by a network that learns what is general
SAME_UNIT = (0.4, 3.0)  # times the first training loss: the first validation loss, where units are the same
FITTED = 0.1  # of the first training loss: less is left where all is known by heart
GAINED = 0.8  # of the first validation loss
SHARES = frozenset({"accuracy", "acc", "recall", "precision", "f1", "iou", "dice", "auc", "map"})
HIGH = 0.6  # a share of right or explained answers


def examine(validation: Validation, loss: TrainLoss, start: StartingPoint) -> Iterator[Finding]:
    """Fire where most of what is gained is gained on training data alone."""
    metric = validation.metrics.get("val/loss")
    if metric is None or not start.from_scratch or not start.seems_untrained or start.given_in_source:
        raise InsufficientData("no validation loss of a training from random weights was logged")
    held, train = metric.series, loss.series.finite()
    if len(held) < LEAST_EVALUATIONS or len(train) < LEAST_POINTS:
        raise InsufficientData(f"cannot tell with {len(held)} evaluations", EVALUATE_MORE)
    first, trained = float(train.values[:2].max()), _settled(train.values)
    began, ended = float(held.values[0]), float(np.median(held.values[-3:]))
    if not loss.measures_progress or loss.reinforced or trained < 0.0 or trained > FALLS * first:
        return
    if not SAME_UNIT[0] * first <= began <= SAME_UNIT[1] * first:
        return
    if first - ended >= HOLDS * (first - trained) or any(map(_ends_high, validation.metrics.values())):
        return
    if ended <= HOLDS * began:
        return  # a loss over more candidates begins higher, and more than half of it is gone
    fitted, gained = trained <= FITTED * first, float(held.values.min()) <= GAINED * began
    yield Finding(
        (held.where(), train.where()),
        f"{train.name} falls from {first:.4g} to {trained:.4g}, and {held.name} ends at {ended:.4g}: "
        f"{max(0.0, (first - ended) / (first - trained)):.0%} of what is learned holds elsewhere",
        {
            "train_first": first,
            "train_last": trained,
            "held_first": began,
            "held_last": ended,
            "fitted": fitted,
            "gained": gained,
            "of_another_kind": not fitted and not gained,
        },
        onset=int(held.steps[int(np.argmin(held.values))]),
    )


def _settled(values: np.ndarray) -> float:
    """Where a training loss ends; one with rare large values is compared by its mean, as evaluations are."""
    latest = float(np.median(values[-max(2, len(values) // 20) :]))
    return max(latest, float(np.mean(values[-max(LEAST_POINTS, len(values) // 8) :])))


def _ends_high(metric: Metric) -> bool:
    """Whether a share of answers ends where only a network is that has learned its task."""
    if metric.sign < 0:
        return False
    values = metric.series.values
    whole = 100.0 if words(metric.series.name) & SHARES and float(values.max()) > 1.0 else 1.0
    return HIGH * whole <= float(np.median(values[-3:])) <= whole
