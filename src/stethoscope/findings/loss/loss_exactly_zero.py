"""The loss is exactly zero on single steps, far from where it usually is.

## What it checks
Values of exactly 0.0 in the training loss: at least two, and at most a fifth of all, while the values around
them are nowhere near zero.

## Why it matters
No batch with something to learn has a loss of exactly zero. Such batches are empty: no positives, all labels
ignored, nothing but padding. They count as steps, and where the mean over nothing is not guarded the next one
is NaN.

## When it is harmless
A loss with a margin (hinge, triplet) is zero for samples it is done with; a log that rounds shows zero
where the loss is small; trainers print zero before their first step. A NaN that is printed as zero is
another rule's.

## References
- torch.nn.CrossEntropyLoss, on `ignore_index`
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Steps, Values
from stethoscope.signals.loss import LOG_THIS, TrainLoss, words

RULE = Rule(code="LOS140", since="0.2", severity=Severity.WARNING)

LEAST_POINTS = 30
LEAST_ZEROS = 2
MOST_ZEROS = 0.2  # of all values
AROUND = 4  # values on each side
FAR = 0.2  # of the median of all: the neighbours of a zero are no smaller
ROUNDED = 20.0  # times the finest difference in the log
MARGINS = frozenset({"hinge", "triplet", "margin", "contrastive", "ranking", "perceptron", "svm"})


def examine(loss: TrainLoss) -> Iterator[Finding]:
    """Fire on zeros among values that are far from zero."""
    series = loss.series.finite()
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"cannot tell from {len(series)} values of the loss", LOG_THIS)
    names = {word for one in (series.logged_as, *loss.terms) for word in words(one)}
    if not loss.measures_progress or names & MARGINS or np.any(series.values < 0.0):
        return
    zeros = _zeros(series.values)
    share = len(zeros) / len(series)
    if len(zeros) < LEAST_ZEROS or share > MOST_ZEROS:
        return
    steps = series.steps[zeros]
    yield Finding(
        series.where(int(steps[0]), int(steps[-1])),
        f"{series.name} is exactly 0.0 at {_listed(steps)}, among values around "
        f"{float(np.median(series.values[series.values > 0.0])):.4g}",
        evidence={"zeros": len(zeros), "share": share},
        onset=int(steps[0]),
    )


def _zeros(values: Values) -> Steps:
    """The places of zeros whose neighbours are far from zero; the ends of a log are left out."""
    positive = values[values > 0.0]
    if len(positive) < LEAST_POINTS // 2:
        return np.zeros(0, dtype=np.int64)
    apart = np.diff(np.unique(positive))
    finest = float(apart.min()) if len(apart) else float(positive[0])
    least = max(FAR * float(np.median(positive)), ROUNDED * finest)
    found = [
        place
        for place in np.flatnonzero(values == 0.0)
        if 1 < place < len(values) - 1 and _level(values, int(place)) >= least
    ]
    return np.array(found, dtype=np.int64)


def _level(values: Values, place: int) -> float:
    around = values[max(0, place - AROUND) : place + AROUND + 1]
    others = around[around > 0.0]
    return float(np.median(others)) if len(others) >= AROUND else 0.0


def _listed(steps: Steps) -> str:
    first = ", ".join(map(str, steps[:3]))
    return f"step {first}" + (f" and {len(steps) - 3} more" if len(steps) > 3 else "")
