"""The loss leaps at the very start, while the rate is at its peak, and takes long to come back.

## What it checks
The first tenth of the training loss: whether it climbs well above its first value and stays there for a
good part of the run before it comes down, in a run whose rate has no warm-up to speak of.

## Why it matters
At the start curvature is high and Adam's second moment is young: a full rate throws the weights far away.
Training goes on from there, in a worse place, and everything before was wasted.

## When it is harmless
A bump of a few steps at the start is usual with momentum and costs nothing. A curriculum or a term that
comes in raises the loss by design. Losses of a game or of reinforcement learning are not looked at. A loss
that does not come back has run away, which is another thing.

## References
- Google's deep learning tuning playbook: how to see and cure early instability
- Gilmer et al., A Loss Curvature Perspective on Training Instability, 2021
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Values
from stethoscope.signals.curriculum import Curriculum
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.starting_point import StartingPoint
from stethoscope.signals.warm_up import WarmUp

RULE = Rule(code="LOS133", since="0.3", severity=Severity.WARNING)

LEAST_POINTS = 60
START = 0.1  # of the points
HEIGHT = 1.5  # times the first value
NOISES = 6.0
LASTS = 0.03  # of the run above its first value, and at least so many points:
POINTS = 4
NO_WARM_UP = 0.01  # of the run
BACK = 0.9  # of the first value, in the second half


def examine(
    loss: TrainLoss, warm_up: WarmUp, start: StartingPoint, curriculum: Curriculum | None
) -> Iterator[Finding]:
    """Fire on a climb at the start that lasts and then comes back."""
    series = loss.series.finite()
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"{len(series)} values of the loss are too few to see how the run began")
    if not loss.measures_progress or curriculum is not None or not start.from_scratch:
        return
    first = float(series.values[0])
    if first <= 0.0 or warm_up.share > NO_WARM_UP or not _comes_back(series.values, first):
        return
    climb = _climb(series.values, first)
    if climb is None:
        return
    begin, end, peak = climb
    yield Finding(
        series.where(int(series.steps[begin]), int(series.steps[end])),
        f"{series.name} climbs from {first:.4g} to {peak:.4g} at the start and is above it until step "
        f"{int(series.steps[end]):,}; {warm_up.said}",
        evidence={"first": first, "peak": peak, "share": (end - begin) / len(series)},
        onset=int(series.steps[begin]),
    )


def _climb(values: Values, first: float) -> tuple[int, int, float] | None:
    """Where the loss first stands well above its first value, until when, and how high it came."""
    early = values[: max(int(START * len(values)), POINTS)]
    logs = np.log(np.maximum(values, 1e-30))
    bar = first * max(HEIGHT, math.exp(NOISES * noise_sd(logs)))
    above = np.nonzero(early > bar)[0]
    if len(above) == 0:
        return None
    begin = int(above[0])
    below = np.nonzero(values[begin:] < first)[0]
    end = begin + int(below[0]) if len(below) else len(values) - 1
    stays = float(np.median(values[begin:end])) > 0.5 * (first + bar) if end > begin else False
    if end - begin < max(LASTS * len(values), POINTS) or not stays:
        return None
    return begin, end, float(values[begin:end].max())


def _comes_back(values: Values, first: float) -> bool:
    return float(np.median(values[len(values) // 2 :])) < BACK * first
