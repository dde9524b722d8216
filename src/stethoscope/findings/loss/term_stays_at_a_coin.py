"""One of several terms costs what tossing a coin costs, from the first line to the last.

## What it checks
Several losses logged beside each other, of training or held-out data: whether one of them lies within half a
percent of ln 2 all the time, apart from its first tenth, with ten values or more. The parts of a game are
left out.

## Why it matters
A yes or no that is predicted with the same doubt for every sample is not learned at all: no gradient comes
through to it, another term drowns it, or its labels belong to other samples. In the total it hardly shows.

## When it is harmless
What cannot be told better than by a coin, and a term whose turn comes later. So this is only a note.

## References
- The cross entropy of one half: ln 2 = 0.6931
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.every_series import EverySeries
from stethoscope.signals.loss import ADVERSARIAL, TrainLoss, words

RULE = Rule(code="LOS852", since="0.9", severity=Severity.NOTE)

LEAST_VALUES = 10
LEAST_BESIDE = 2  # of them, with the total: a single loss is looked at elsewhere
NEAR = 0.005  # relative to ln 2
ALONE = frozenset(
    {"lr", "epoch", "step", "temp", "temperature", "entropy", "tau", "scale", "acc", "accuracy"}
)


def examine(every: EverySeries, loss: TrainLoss) -> Iterator[Finding]:
    """Note the first term that stays there."""
    if loss.adversarial or loss.reinforced:
        return
    terms = {
        name: one.finite() for name, one in every.series.items() if not words(name) & (ALONE | ADVERSARIAL)
    }
    long = {name: one for name, one in terms.items() if len(one) >= LEAST_VALUES}
    if len(long) < LEAST_BESIDE:
        raise InsufficientData("the terms of the loss were not logged one by one")
    at_it = next((one for one in long.values() if one.name != loss.series.name and _stays(one)), None)
    if at_it is not None:
        yield Finding(
            at_it.where(),
            f"{at_it.name} stays at {np.median(at_it.values):.4g}, the loss of tossing a coin: ln 2 = 0.6931",
            {"series": at_it.name},
            onset=int(at_it.steps[0]),
        )


def _stays(term: Series) -> bool:
    values = term.values[len(term) // 10 :]
    return bool(np.all(np.abs(values / math.log(2.0) - 1.0) <= NEAR)) and float(np.ptp(values)) > 0.0
