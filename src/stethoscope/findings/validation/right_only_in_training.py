"""Nearly all answers are right in training, and most are wrong on held-out data.

## What it checks
The same share of right answers, logged on training and on held-out data: whether training ends above nine
tenths while the best stretch of the held-out share is less than half of that.

## Why it matters
What was learned is of no use elsewhere. The training data are few or come again and again, their labels hold
nothing general, or the held-out data come to the network in another form than it was trained on.

## When it is harmless
Small data sets with many fine classes have such gaps, and every network trained long enough has a smaller
one. A held-out set that is made to be harder, or of other classes, is not to be held against training. A
share on training data that is measured for a few of them only may be higher than it is.

## References
- Zhang et al., "Understanding deep learning requires rethinking generalization", 2017
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.robust_stats import smoothed
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series, Values
from stethoscope.signals.every_series import EverySeries
from stethoscope.signals.loss import words

RULE = Rule(code="VAL711", since="0.8", severity=Severity.WARNING)

LEAST_POINTS = 4
SHARES = frozenset({"accuracy", "acc", "top1", "acc1"})
LEARNED = 0.9
FOLLOWS = 0.5  # of the share in training
EARLY = 3  # evaluations among which the best one of a run that never gets better lies


def examine(every: EverySeries) -> Iterator[Finding]:
    """Fire on a held-out share that is less than half of the one in training."""
    pairs = [
        (one.finite(), every.series[other].finite())
        for name, one in every.series.items()
        if name.startswith("train/") and words(name) & SHARES
        if (other := f"val/{name.removeprefix('train/')}") in every.series
    ]
    pairs = [pair for pair in pairs if min(map(len, pair)) >= LEAST_POINTS]
    if not pairs:
        raise InsufficientData("no share of right answers was logged both in training and on held-out data")
    for train, held in pairs:
        learned = _last(_shares(train))
        values = _shares(held)
        best = float(smoothed(values, 2)[1:].max())
        if learned > LEARNED and best < FOLLOWS * learned:
            yield Finding(
                (held.where(), train.where()),
                f"{held.name} is {best:.3g} at best, and {train.name} ends at {learned:.3g}",
                {
                    "best": best,
                    "learned": learned,
                    "from_the_start": _last(values) - float(values[:EARLY].max()) < 0.1 * learned,
                },
                onset=int(held.steps[0]),
            )
            return


def _shares(series: Series) -> Values:
    return series.values / (100.0 if float(series.values.max()) > 1.0 else 1.0)


def _last(values: Values) -> float:
    return float(np.median(values[-max(3, len(values) // 10) :]))
