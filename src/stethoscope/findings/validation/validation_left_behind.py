"""Training learns, and the validation does not move at all.

## What it checks
A validation loss that stays within a twentieth of its first value at every evaluation, while the training
loss falls to less than half of its own.

## Why it matters
Overfitting makes a validation loss fall first and rise then; one that never moves was never about the model
that is trained. Either other weights are evaluated (an average that does not move, a copy, a network in the
wrong mode), or they are given other inputs than in training, or the answers belong to other questions.

## When it is harmless
A validation set without anything in common with the training data, on purpose.

## References
- Averages of weights that were never updated: validation at the level of an untrained network.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.validation import EVALUATE_MORE, LOG_THIS, Validation

RULE = Rule(code="VAL105", since="0.2", severity=Severity.CRITICAL)

STILL = 0.05  # of the first value
LEARNS = 0.5  # of the first loss
LEAST_EVALUATIONS = 4
LEAST_POINTS = 8
ALIKE = 2.0  # times: at the start both losses measure the same thing


def examine(validation: Validation, loss: TrainLoss) -> Iterator[Finding]:
    """Fire on a validation loss that stays while the training loss falls by half."""
    metric = validation.metrics.get("val/loss")
    if metric is None:
        raise InsufficientData("no validation loss was logged", LOG_THIS)
    held, train = metric.series, loss.series.finite()
    if len(held) < LEAST_EVALUATIONS or len(train) < LEAST_POINTS:
        raise InsufficientData(f"cannot tell with {len(held)} evaluations", EVALUATE_MORE)
    if not loss.measures_progress or float(held.values[0]) <= 0.0:
        return
    begun, ended = _ends(train)
    first = float(held.values[0])
    moved = float(np.max(np.abs(held.values - first))) / first
    alike = begun / ALIKE <= first <= begun * ALIKE
    if moved > STILL or ended > LEARNS * begun or not alike:
        return
    yield Finding(
        (held.where(), train.where()),
        f"{held.name} stays at {first:.4g} at all {len(held)} evaluations, while {train.name} falls from "
        f"{begun:.4g} to {ended:.4g}",
        {"series": held.name, "value": first, "moved": moved, "train_first": begun, "train_last": ended},
        onset=int(held.steps[0]),
    )


def _ends(series: Series) -> tuple[float, float]:
    """The level at the start, and at the end."""
    part = max(1, len(series) // 10)
    return float(np.median(series.values[:part])), float(np.median(series.values[-part:]))
