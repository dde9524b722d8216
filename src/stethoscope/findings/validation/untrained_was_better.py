"""Held-out data are worse off at every later evaluation than at the first one.

## What it checks
A validation loss whose first evaluation lies in the first tenth of the run and near the first training
losses: whether every later one is at least a tenth higher, and their middle a quarter, while the training
loss falls by half or more.

## Why it matters
Before much was learned the network did better on held-out data than ever after. Where the loss there leaps up
at once and stays, training teaches what is wrong for them: the data are of another kind, scaled otherwise, or
labelled otherwise. Where it climbs on and on, the training data are learned by heart.

## When it is harmless
An untrained classifier is unsure of everything; one that has learned is sure, and pays for each mistake, so
that its accuracy may rise beside its loss. The loss alone is no measure there; what is found is a difference
between the two sets all the same.

## References
- Guo et al., "On Calibration of Modern Neural Networks", 2017
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.common_axis import on_axis_of
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.starting_point import StartingPoint
from stethoscope.signals.validation import EVALUATE_MORE, Validation

RULE = Rule(code="VAL561", since="0.9", severity=Severity.WARNING)

LEAST_EVALUATIONS = 8
LEAST_POINTS = 8
EARLY = 0.1  # of the run
NEAR = (0.5, 1.5)  # times the first training loss: the first evaluation
LEARNS = 0.5  # of the first training loss
HIGHER, MIDDLE = 1.1, 1.25  # times the first evaluation
AT_ONCE = 0.6  # of the whole rise is there at the fourth evaluation


def examine(validation: Validation, loss: TrainLoss, start: StartingPoint) -> Iterator[Finding]:
    """Fire where no evaluation is as good as the first."""
    metric = validation.metrics.get("val/loss")
    if metric is None:
        raise InsufficientData("no validation loss was logged", 'log({"val/loss": ...})')
    held, train = metric.series, loss.series.finite()
    if len(held) < LEAST_EVALUATIONS or len(train) < LEAST_POINTS:
        raise InsufficientData(f"cannot tell with {len(held)} evaluations", EVALUATE_MORE)
    if not loss.measures_progress or not start.from_scratch:
        return
    begun, ended = float(train.values[:3].max()), float(np.median(train.values[-max(2, len(train) // 10) :]))
    first, later = float(held.values[0]), held.values[1:]
    early = int(held.steps[0]) <= EARLY * int(max(held.steps[-1], on_axis_of(train, held)[-1]))
    alike = begun > 0.0 and NEAR[0] * begun <= first <= NEAR[1] * begun
    if not early or not alike or not 0.0 <= ended <= LEARNS * begun:
        return
    middle = float(np.median(later[len(later) // 2 :]))
    if float(later.min()) < HIGHER * first or middle < MIDDLE * first:
        return
    at_once = float(np.median(later[:3])) - first >= AT_ONCE * (middle - first)
    yield Finding(
        (held.where(), train.where()),
        f"{held.name} is {first:.4g} at the first evaluation and never again below {float(later.min()):.4g}, "
        f"while {train.name} falls from {begun:.4g} to {ended:.4g}",
        {"first": first, "middle": middle, "at_once": at_once, "climbs": not at_once},
        onset=int(held.steps[0]),
    )
