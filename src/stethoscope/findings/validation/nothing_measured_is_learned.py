"""The training loss comes down from far above the validation loss, which gains nothing.

## What it checks
A run from random weights whose first training losses are five times the first validation loss or more:
whether the training loss comes down by four fifths to about the level of the validation loss, while the
validation loss gains less than a twentieth and no score beside it gets better.

## Why it matters
Both losses are of the same network. What the training loss has beyond the validation loss is something else
than the task: a penalty, another term with a large weight, or the leap of first steps that were too large.
All of the fall is that something, and what is measured was not learned at all: the outputs were held down,
or thrown away, instead.

## When it is harmless
A penalty that is large at first and goes is no harm where the task is learned beside it: the validation
gains. A network that was trained before has little to gain. Both are left alone.

## References
- Chen et al., "GradNorm: Gradient Normalization for Adaptive Loss Balancing", 2018
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run.names import HIGHER
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.starting_point import StartingPoint
from stethoscope.signals.validation import EVALUATE_MORE, Metric, Validation

RULE = Rule(code="VAL560", since="0.9", severity=Severity.WARNING)

LEAST_EVALUATIONS = 6
LEAST_POINTS = 8
FAR_ABOVE = 5.0  # times the first validation loss
FALLS = 0.2  # of the first training loss, or less, is left
ALIKE = (0.4, 2.5)  # times the last validation loss is the last training loss
GAINS = 0.05  # of the first validation loss
GOOD = 0.5  # a score above this tells of a task that was learned before the first evaluation


def examine(loss: TrainLoss, validation: Validation, start: StartingPoint) -> Iterator[Finding]:
    """Fire where all that falls is something that no evaluation measures."""
    metric = validation.metrics.get("val/loss")
    if metric is None:
        raise InsufficientData("no validation loss was logged", 'log({"val/loss": ...})')
    held, train = metric.series, loss.series.finite()
    if len(held) < LEAST_EVALUATIONS or len(train) < LEAST_POINTS:
        raise InsufficientData(f"cannot tell with {len(held)} evaluations", EVALUATE_MORE)
    if not loss.measures_progress or not start.from_scratch:
        return
    begun, ended = float(train.values[0]), float(np.median(train.values[-max(2, len(train) // 10) :]))
    first, last = float(held.values[0]), float(np.median(held.values[-3:]))
    if first <= 0.0 or last <= 0.0 or begun < FAR_ABOVE * first or not 0.0 < ended <= FALLS * begun:
        return
    scores = [one for one in validation.judged.values() if one.better == HIGHER]
    learned = last < (1.0 - GAINS) * first or any(map(_has_learned, scores))
    if learned or not ALIKE[0] * last <= ended <= ALIKE[1] * last:
        return
    yield Finding(
        (train.where(), held.where()),
        f"{train.name} falls from {begun:.4g} to {ended:.4g}, and {held.name} goes from {first:.4g} to "
        f"{last:.4g}: all that fell is something that the validation does not measure",
        {"train_first": begun, "train_last": ended, "first": first, "last": last},
        onset=int(train.steps[0]),
    )


def _has_learned(score: Metric) -> bool:
    """Whether a score gets better, or is good from the first evaluation on."""
    values = score.series.values
    whole = 100.0 if float(values.max()) > 1.0 else 1.0
    return score.improves_since(int(score.series.steps[0])) or float(np.median(values)) > GOOD * whole
