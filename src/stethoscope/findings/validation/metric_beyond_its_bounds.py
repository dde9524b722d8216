"""A score is better than perfect.

## What it checks
Similarities and shares of right answers, on held-out data: structural similarity, accuracy, precision,
recall, F1, Dice, IoU, AUC. None can be above one. It fires where at least three values, and a tenth of all,
lie above one and not beyond two; larger ones are percentages.

## Why it matters
The number is wrong, so every decision that rests on it is: which checkpoint is best, when to stop, whether
a change helped. Moments of a similarity cancel in half precision; sums are divided by the wrong count; a
metric is added over ranks instead of averaged.

## When it is harmless
A rounding error above one (1.0002) is not reported, nor is a percentage, nor a score that is negative where
it may be.

## References
- Structural similarity, F1 and IoU are at most 1 by definition.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.signals.loss import words
from stethoscope.signals.validation import Validation

RULE = Rule(code="VAL150", since="0.2", severity=Severity.WARNING)

AT_MOST_ONE = frozenset(
    {
        *(
            "ssim",
            "msssim",
            "accuracy",
            "acc",
            "top1",
            "top5",
            "precision",
            "recall",
            "f1",
            "dice",
            "iou",
            "miou",
        ),
        *("auc", "auroc", "map"),
    }
)
ROUNDING = 1.005  # sums in single precision are off by less
PERCENT = 2.0  # a share in percent that stays below two is no score that anybody keeps
FEW, SHARE = 3, 0.1  # values beyond the bound that are no accident


def examine(validation: Validation) -> Iterator[Finding]:
    """Fire on each score that lies above one and is no percentage."""
    for name, metric in validation.metrics.items():
        values = metric.series.values
        beyond = values > ROUNDING
        count = int(np.count_nonzero(beyond))
        if not words(name) & AT_MOST_ONE or count < max(FEW, SHARE * len(values)) or values.max() > PERCENT:
            continue
        first = int(metric.series.steps[int(np.argmax(beyond))])
        yield Finding(
            metric.series.where(first, int(metric.series.steps[-1])),
            f"{name} is up to {values.max():.4g}, and nothing can be better than 1: {count:,} of "
            f"{len(values):,} values lie above it",
            {"metric": name, "highest": float(values.max()), "count": count},
            onset=first,
            proof="the measure is at most 1 by its definition",
        )
