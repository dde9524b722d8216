"""A share of right answers is next to nothing at every evaluation, though training has settled.

## What it checks
Shares such as an accuracy, a recall, an overlap (IoU, Dice) or a precision, with six evaluations or more,
where the training loss has fallen and come to rest. It fires where the share never leaves the lowest two
hundredths of its range.

## Why it matters
Whatever was learned, none of it is what the score asks for: a term of the loss has the wrong sign or
outweighs the others, answers and targets are numbered or cut otherwise, the network answers the same to all,
or the score is computed wrongly. More steps change none of these.

## When it is harmless
Where the choice is among thousands, or an answer must be right as a whole, a young network scores nothing for
long: while its loss still falls, nothing is said. A network that learns by heart first may score late.

## References
- Google Research, Deep Learning Tuning Playbook
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Values
from stethoscope.signals.loss import TrainLoss, words
from stethoscope.signals.validation import EVALUATE_MORE, Validation

RULE = Rule(code="VAL382", since="0.7", severity=Severity.WARNING)

LEAST_EVALUATIONS = 6
LEAST_POINTS = 20
SHARES = frozenset({"accuracy", "acc", "iou", "miou", "dice", "recall", "precision", "f1", "auc"})
NOTHING = 0.02  # of the range from 0 to 1
FALLS = 0.95  # of the first training loss
SETTLED = 0.15  # of the whole fall may come in the second half


def examine(validation: Validation, loss: TrainLoss) -> Iterator[Finding]:
    """Fire on the first share that never comes to anything."""
    shares = [metric.series for name, metric in validation.metrics.items() if words(name) & SHARES]
    shares = [series for series in shares if len(series) >= LEAST_EVALUATIONS]
    if not shares:
        raise InsufficientData("no share of right answers was evaluated often enough", EVALUATE_MORE)
    train = loss.series.finite()
    if len(train) < LEAST_POINTS:
        raise InsufficientData("too few values of the training loss were logged")
    if not loss.measures_progress or not _settles(train.values):
        return
    # Beside a share that comes to something, one that does not asks for more.
    if any(float(series.values.max()) > NOTHING for series in shares):
        return
    yield Finding(
        (shares[0].where(), train.where()),
        f"{shares[0].name} is {float(shares[0].values.max()):.3g} at best in {len(shares[0])} evaluations, "
        f"and {train.name} has come to rest at {float(np.median(train.values[len(train) // 2 :])):.4g}",
        {"best": float(shares[0].values.max()), "evaluations": len(shares[0])},
        onset=int(shares[0].steps[0]),
    )


def _settles(values: Values) -> bool:
    """Whether a loss has fallen, most of it in the first half."""
    part = max(2, len(values) // 10)
    middle = len(values) // 2
    begun, ended = float(np.median(values[:part])), float(np.median(values[-part:]))
    halfway = float(np.median(values[middle - part // 2 : middle + part]))
    fall = begun - ended
    return fall > (1.0 - FALLS) * abs(begun) and halfway - ended <= SETTLED * fall
