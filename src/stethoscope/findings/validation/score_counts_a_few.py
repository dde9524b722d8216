"""A validation accuracy is a share of a handful of samples, and jumps as such shares do.

## What it checks
An accuracy on held-out data with eight evaluations or more: whether all its values are multiples of 1/n for
one n up to 16, four or more different ones, and whether most neighbours differ by a sample or more.

## Why it matters
A share of 6 answers has a deviation of a fifth. Whether a network got better, and which checkpoint is the
best, cannot be told from it: the best score of the run is the luckiest draw. It is mostly one batch, or a
small random draw, that is evaluated where the whole set was meant.

## When it is harmless
Episodes and games are counted in tens, and nobody takes one evaluation of them for the truth: success rates
are left alone. So are shares that hardly jump.

## References
- Card et al., "With Little Power Comes Great Responsibility", 2020
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Values
from stethoscope.signals.loss import TrainLoss, words
from stethoscope.signals.validation import EVALUATE_MORE, Validation

RULE = Rule(code="VAL562", since="0.9", severity=Severity.WARNING)

LEAST_EVALUATIONS = 8
SHARES = frozenset({"accuracy", "acc", "acc1", "top1"})
MOST = 16  # samples
DIFFERENT = 4  # values: fewer are multiples of something by chance
ROUNDED = 0.006  # of one sample's share in a thousand: printed with two or three digits
JUMPS = 1.0  # samples, from one evaluation to the next, in the middle


def examine(validation: Validation, loss: TrainLoss | None) -> Iterator[Finding]:
    """Fire on the accuracy of a handful."""
    shares = [one.series for name, one in validation.metrics.items() if words(name) & SHARES]
    if not shares or max(map(len, shares)) < LEAST_EVALUATIONS:
        raise InsufficientData("no accuracy on held-out data was logged often enough", EVALUATE_MORE)
    if loss is not None and loss.reinforced:
        return
    for series in shares:
        values = series.values / (100.0 if float(series.values.max()) > 1.0 else 1.0)
        count = _counted(values)
        if len(series) >= LEAST_EVALUATIONS and count is not None:
            jump = float(np.median(np.abs(np.diff(values)))) * count
            if jump >= JUMPS:
                yield Finding(
                    series.where(),
                    f"all {len(series)} values of {series.name} are multiples of 1/{count}, and it jumps by "
                    f"{jump:.2g} of {count} samples from one evaluation to the next",
                    {"samples": count, "jump": jump},
                    onset=int(series.steps[0]),
                )
                return


def _counted(values: Values) -> int | None:
    """The fewest samples of which all values can be shares; None for many."""
    if len(np.unique(np.round(values, 3))) < DIFFERENT:
        return None
    for count in range(DIFFERENT - 1, MOST + 1):
        if bool(np.all(np.abs(values * count - np.round(values * count)) <= ROUNDED * count)):
            return count
    return None
