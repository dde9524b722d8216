"""Nearly all losses of the second half are several times the first one.

## What it checks
A training loss that comes down at first, and of which nine in ten values in the second half of the run are
three times the first value or more; where a validation loss is logged, most of it has to lie as far above its
own first value.

## Why it matters
A network that knows nothing has the first loss. One that has a multiple of it was thrown far off: by a rate
that no network survives, or again and again by samples that are out of all proportion, between which the loss
comes down by orders of magnitude each time.

## When it is harmless
A loss whose task or weight grows on purpose may end above its beginning; where a difficulty is logged, or the
loss is one of a game or of rewards, nothing is said.

## References
- Google's deep learning tuning playbook: identifying unstable training
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Values
from stethoscope.signals.curriculum import Curriculum
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.validation import Validation

RULE = Rule(code="LOS561", since="0.9", severity=Severity.WARNING)

LEAST_POINTS = 10
FAR = 3.0  # times the first value
NEARLY_ALL = 0.1  # of the values may lie lower
FELL = 0.8  # of the first value: what an early loss came down to
ERRATIC = 30.0  # times: what lies between a high and a low loss, where single samples make it


def examine(
    loss: TrainLoss, validation: Validation | None, curriculum: Curriculum | None
) -> Iterator[Finding]:
    """Fire where the second half is far beyond the beginning."""
    series = loss.series.finite()
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"only {len(series)} losses were logged")
    if not loss.measures_progress or curriculum is not None or float(series.values[0]) <= 0.0:
        return
    first, half = float(series.values[0]), series.values[len(series) // 2 :]
    fell = float(series.values[: len(series) // 2].min()) <= FELL * first
    low, middle, high = (float(one) for one in np.quantile(half, (NEARLY_ALL, 0.5, 1.0 - NEARLY_ALL)))
    held = validation.metrics.get("val/loss") if validation is not None else None
    if not fell or low < FAR * first or (held is not None and not _is_beyond(held.series.values)):
        return
    yield Finding(
        series.where(int(series.steps[len(series) // 2]), int(series.steps[-1])),
        f"{series.name} begins at {first:.4g}, and in the second half of the run it is {middle:.4g}, between "
        f"{low:.4g} and {high:.4g}",
        {"first": first, "middle": middle, "erratic": high >= ERRATIC * low},
        onset=int(series.steps[int(np.argmax(series.values >= FAR * first))]),
    )


def _is_beyond(held: Values) -> bool:
    return float(np.median(held[len(held) // 2 :])) >= FAR * float(held[0]) > 0.0
