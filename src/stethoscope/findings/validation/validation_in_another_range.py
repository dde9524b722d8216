"""The validation loss is a hundred times the training loss, and jumps about.

## What it checks
Over the second half of at least eight evaluations: the middle validation loss is a hundred times that of
training or more, and its values differ among themselves by a factor of five or more, while the training
loss has fallen.

## Why it matters
The network that is evaluated is not the one that was trained, or it is given something else: running
statistics of tiny batches, inputs in another range, weights that were not restored. A model that merely
learnt its data by heart is worse by a factor of two or ten, and steadily so.

## When it is harmless
A loss that is summed over the set instead of averaged is larger by the same factor every time: it does not
jump, and is not reported. A loss with another scale or other terms may be larger, but follows the training.

## References
- Running statistics of batch normalisation are used in evaluation only
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Values
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.validation import Validation

RULE = Rule(code="VAL151", since="0.2", severity=Severity.WARNING)

LEAST_POINTS = 8
TIMES = 100.0  # the training loss
JUMPS = 5.0  # between the low and the high tenth of the evaluations
FALLEN = 0.8  # of its first level, to which the training loss must have come down


def examine(validation: Validation, loss: TrainLoss) -> Iterator[Finding]:
    """Fire where the validation loss lives in a range of its own and does not keep to it."""
    metric = validation.metrics.get("val/loss")
    if metric is None or len(metric.series) < LEAST_POINTS or len(loss.series.finite()) < LEAST_POINTS:
        raise InsufficientData(f"fewer than {LEAST_POINTS} losses of validation and training were logged")
    held_out, trained = _second_half(metric.series.values), loss.series.finite().values
    if not loss.measures_progress or held_out.min() <= 0.0 or trained.min() <= 0.0:
        return
    low, high = np.percentile(held_out, [10, 90])
    ratio = float(np.median(held_out) / np.median(_second_half(trained)))
    quarter = max(1, len(trained) // 4)
    fell = np.median(trained[-quarter:]) < FALLEN * np.median(trained[:quarter])
    if not fell or ratio < TIMES or high < JUMPS * low:
        return
    yield Finding(
        (metric.series.where(), loss.series.where()),
        f"val/loss is {ratio:,.0f} times the training loss and jumps between {low:.3g} and {high:.3g}, while "
        "training goes well",
        {"ratio": ratio, "low": float(low), "high": float(high)},
    )


def _second_half(values: Values) -> Values:
    return values[len(values) // 2 :]
