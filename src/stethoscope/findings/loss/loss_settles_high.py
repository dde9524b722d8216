"""The loss comes to rest in the first half of the run, at a good part of where it began.

## What it checks
A training loss from random weights that has lost a tenth or more of its first level: whether nine tenths of
its fall lie in the first half of the log, and a third or more of the first level is left. It says whether
the validation loss stands at the same level: then it is not for want of data that no more is learned.

## Why it matters
A network that cannot go on has learned what a part of it can learn: the rest is not updated, is drawn away
by weight decay as fast as it is learned, or has labels to learn that tell nothing.

## When it is harmless
Noise that cannot be predicted sets such a floor for every network: text, outliers, small contrasts. So this
is only a note, which ranks causes where somebody expects more of the run.

## References
- Zhang, Bengio and Singer, "Are all layers created equal?", 2022
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.levels import levels
from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.findings._usual_rate import rate_evidence
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.starting_point import StartingPoint
from stethoscope.signals.validation import Validation

RULE = Rule(code="LOS761", since="0.8", severity=Severity.NOTE)

LEAST_POINTS = 8
FALLS = 0.9  # of the first level, or less, is what the loss comes down to
HIGH = 0.33  # of it is left
EARLY = 0.9  # of the fall, in the first half
MUCH = 0.45  # and where so much is left, the floor is rarely one of noise
HARDLY = 0.75  # of the first level: what is left where next to nothing was learned
FELL_BELOW = 0.15  # of the fall: a loss that had been so much lower has not settled
RESTLESS = 0.02  # of its level: how far weights stray that have come to rest nowhere
FEWEST = 8  # evaluations
SAME = 0.1  # relative: the validation loss is at the level of the training loss


def examine(
    loss: TrainLoss, start: StartingPoint, validation: Validation | None, rates: LearningRate | None
) -> Iterator[Finding]:
    """Note a loss that settles early and high."""
    if loss.progress is None or not start.from_scratch:
        return
    series = loss.progress.finite()
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"only {len(series)} losses were logged")
    level = levels(series.values)
    first = max(float(series.values[0]), float(level[0]))
    middle, last = float(level[len(level) // 2]), float(np.median(level[-max(1, len(level) // 10) :]))
    if first <= 0.0 or not HIGH * first <= last <= FALLS * first or first - middle < EARLY * (first - last):
        return
    if float(level.min()) < last - FELL_BELOW * (first - last):
        return
    held = validation.metrics.get("val/loss") if validation is not None else None
    beside = float(np.median(held.series.values[-3:])) if held is not None else None
    yield Finding(
        series.where(),
        f"{series.name} begins at {first:.4g}, is at {middle:.4g} halfway through the log and ends at "
        f"{last:.4g}",
        {
            "first": first,
            "middle": middle,
            "last": last,
            "much": last > MUCH * first,
            "hardly": last > HARDLY * first,
            "restless": held is not None and _is_restless(held.series),
            **rate_evidence(rates),
            "no_gap": beside is not None and abs(beside - last) <= SAME * abs(last),
        },
    )


def _is_restless(held: Series) -> bool:
    """Whether an error of the same samples goes to and fro from one evaluation to the next."""
    later = held.values[len(held) // 3 :]
    level = float(np.median(later))
    return len(later) >= FEWEST and level > 0.0 and noise_sd(later) >= RESTLESS * level
