"""Training learns, and held-out data stay worse off than an untrained network on training data.

## What it checks
A validation loss whose best value is above the first training loss, and hardly below its own first value,
while the training loss falls to a third or less.

## Why it matters
An untrained network knows nothing of either set. Where training improves one of them and the other stays
worse than that, what is measured has little in common with what is learned: it comes from elsewhere, is
scaled differently, or the training data are so few that nothing general can be learned from them. Where far
fewer answers are right than guesses would be, what is learned holds, and the answers are numbered otherwise.

## When it is harmless
A validation loss in another unit (a sum, another weighting) still falls as the model learns. One that falls
first and rises later is overfitting, which another rule looks for.

## References
- Google, Deep Learning Tuning Playbook, on train and validation curves
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.loss import TrainLoss, words
from stethoscope.signals.validation import EVALUATE_MORE, LOG_THIS, Validation

RULE = Rule(code="VAL140", since="0.2", severity=Severity.WARNING)

LEAST_EVALUATIONS = 4
LEAST_POINTS = 8
LEARNS = 1 / 3  # of the first training loss
BY_HEART = 0.01  # of the first training loss: next to nothing is left to learn
ABOVE = 1.2  # times the first training loss: the best validation loss
SHARES = frozenset({"accuracy", "acc", "acc1", "top1"})
LEAST_GUESSES = 0.05  # right by guessing: of fewer, few evaluations have any
WORSE = 0.3  # of what guesses would be right
GAINS = 0.8  # of its first value: a best value above this has gained little


def examine(validation: Validation, loss: TrainLoss) -> Iterator[Finding]:
    """Fire on a validation loss that never gets as good as an untrained network on training data."""
    metric = validation.metrics.get("val/loss")
    if metric is None:
        raise InsufficientData("no validation loss was logged", LOG_THIS)
    held, train = metric.series, loss.series.finite()
    if len(held) < LEAST_EVALUATIONS or len(train) < LEAST_POINTS:
        raise InsufficientData(f"cannot tell with {len(held)} evaluations", EVALUATE_MORE)
    part = max(1, len(train) // 20)
    begun, ended = float(np.median(train.values[:part])), float(np.median(train.values[-part:]))
    best, first = float(held.values.min()), float(held.values[0])
    if not loss.measures_progress or begun <= 0.0 or ended > LEARNS * begun:
        return
    if best < ABOVE * begun or best < GAINS * first:
        return
    yield Finding(
        (held.where(), train.where()),
        f"{held.name} never gets below {best:.4g}, while {train.name} falls from {begun:.4g} to {ended:.4g}",
        {
            "best": best,
            "first": first,
            "train_first": begun,
            "train_last": ended,
            "by_heart": ended <= BY_HEART * begun,
            "worse_than_guesses": _is_worse_than_guesses(validation, begun),
        },
        onset=int(held.steps[0]),
    )


def _is_worse_than_guesses(validation: Validation, untrained: float) -> bool:
    """Whether far fewer answers are right than by guessing, which costs what the first steps cost."""
    guesses = float(np.exp(-untrained))
    shares = [metric.series.values for name, metric in validation.metrics.items() if words(name) & SHARES]
    if guesses < LEAST_GUESSES or len(shares) != 1 or float(shares[0].max()) > 1.0:
        return False
    return float(np.median(shares[0][len(shares[0]) // 2 :])) < WORSE * guesses
