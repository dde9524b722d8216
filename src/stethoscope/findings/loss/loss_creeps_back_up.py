"""The loss had been lower, and creeps up again evenly to the end, on training and held-out data alike.

## What it checks
A training loss with its lowest stretch in the first three fifths of the run: whether it rises from there
evenly, by a tenth or more and by a good part of what had been gained, without leaps. Where errors on held-out
data are logged, they must rise as evenly. Without them, this is a note.

## Why it matters
Too large a step throws the loss about, and memorising lowers it. What draws every weight back a little at
each step, as a weight decay does that outweighs the gradients, raises the loss evenly, whatever becomes of
the rate.

## When it is harmless
A task that gets harder, a term whose weight grows, the losses of a game or of rewards: where these are logged
nothing is said. A rate that climbs raises a loss too; then this is a note.

## References
- Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.robust_stats import block_means
from stethoscope.detectors.trend import share_of_falls
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.run.names import LOWER
from stethoscope.signals.curriculum import Curriculum
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import RISES_BY_DESIGN, TrainLoss, words
from stethoscope.signals.validation import Validation

RULE = Rule(code="LOS853", since="0.9", severity=Severity.WARNING)

LEAST_POINTS = 10
STRETCHES = 24
EARLY = 0.6  # of the run: by then the lowest stretch is behind
RISES = 1.1  # times the lowest stretch
OF_GAIN = 0.15
EVENLY = 0.15  # of the pairs behind the lowest stretch, at most, fall
CLIMBS = 1.2  # times the rate at the lowest stretch


@dataclass(frozen=True, slots=True)
class _Rise:
    """A way up from the lowest stretch of a curve."""

    at: int
    lowest: float
    last: float


def examine(
    loss: TrainLoss,
    validation: Validation | None,
    rates: LearningRate | None,
    curriculum: Curriculum | None,
) -> Iterator[Finding]:
    """Fire where a loss rises as evenly as it had fallen."""
    series = loss.series.finite()
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"{len(series)} values of the loss are too few to see it creep")
    grows = any(words(name) & RISES_BY_DESIGN for name in loss.terms)
    if not loss.measures_progress or curriculum is not None or grows:
        return
    seen = _rise(series)
    held = [one.series for one in (validation.judged if validation else {}).values() if one.better == LOWER]
    held = [one for one in held if len(one) >= LEAST_POINTS]
    if seen is None or not all(_rise(one) for one in held):
        return
    climbs, falls = _course(rates, seen.at)
    yield Finding(
        (series.where(seen.at, int(series.steps[-1])), *(one.where() for one in held[:1])),
        f"{series.name} is lowest around step {seen.at:,} at {seen.lowest:.4g} and creeps up to "
        f"{seen.last:.4g}" + (f", and {held[0].name} with it" if held else ""),
        {"lowest": seen.lowest, "last": seen.last, "rate_climbs": climbs, "rate_falls": falls},
        onset=seen.at,
        severity=None if held and not climbs else Severity.NOTE,
    )


def _rise(series: Series) -> _Rise | None:
    steps, level = block_means(series.steps, series.values, STRETCHES)
    at = int(np.argmin(level))
    behind = level[at:]
    if not 0 < at <= EARLY * len(level) or len(behind) < 4 or float(level[at]) <= 0.0:
        return None
    first, lowest, last = float(level[0]), float(level[at]), float(np.median(level[-2:]))
    rises = last >= RISES * lowest and last - lowest >= OF_GAIN * (first - lowest)
    return _Rise(int(steps[at]), lowest, last) if rises and share_of_falls(behind) <= EVENLY else None


def _course(rates: LearningRate | None, since: int) -> tuple[bool, bool]:
    """Whether the rate is clearly higher at the end than at a step, and whether it is clearly lower."""
    if rates is None or len(rates.main.finite()) < 2:
        return False, False
    rate = rates.main.finite()
    then, last = float(np.interp(since, rate.steps, rate.values)), float(rate.values[-1])
    return last > CLIMBS * then, then > CLIMBS * last
