"""The loss falls as much in the second half of the run as in the first.

## What it checks
A training loss from random weights (in a game, its largest term that is none of the game) that has fallen by
a twentieth or more, beyond its noise: whether between 15 % and 65 % of that fall lies in the first half of
the log. Whether its steps are noisy, too: they stray by a twenty-fifth of the first loss or more, or a
handful of samples stand behind each.

## Why it matters
A loss falls fast at first and ever more slowly then. One that falls evenly is still at the beginning of that
curve: its steps are too small, or so noisy that little of each is progress.

## When it is harmless
A run that was stopped early, or that waits on a plateau before it learns, as contrastive and masked training
may. A curriculum that becomes easier. So this is only a note, which tells causes apart.

## References
- Google's deep learning tuning playbook: the learning rate is the first thing to tune
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from stethoscope.detectors.levels import levels
from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.findings._usual_rate import rate_evidence
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.samples_per_step import SamplesPerStep
from stethoscope.signals.starting_point import StartingPoint

RULE = Rule(code="LOS331", since="0.6", severity=Severity.NOTE)

LEAST_POINTS = 8
FALLEN = 0.95  # of the first level, or less, is what the loss has come down to
EVENLY = (0.15, 0.65)  # of the fall, in the first half of the log
NOISES = 4.0
NOISY = 0.04  # of the first loss: what single steps stray, once the loss has come half of its way
FEW = 8.0  # samples behind a step, whose noise a printed mean of steps may hide


def examine(
    loss: TrainLoss, start: StartingPoint, seen: SamplesPerStep | None, rates: LearningRate | None
) -> Iterator[Finding]:
    """Note a loss that has not begun to level off."""
    if loss.progress is None or not start.from_scratch:
        return
    series = loss.progress.finite()
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"only {len(series)} losses were logged")
    level = levels(series.values)
    first, middle, last = float(level[0]), float(level[len(level) // 2]), float(level[-1])
    noise = noise_sd(series.values[len(series) // 2 :])
    if first <= 0.0 or last > FALLEN * first or first - last < NOISES * noise / math.sqrt(len(series) / 10):
        return
    early = (first - middle) / (first - last)
    if not EVENLY[0] <= early <= EVENLY[1]:
        return
    strays = noise > NOISY * first
    few = seen is not None and seen.count <= FEW
    yield Finding(
        series.where(),
        f"{series.name} falls from {first:.4g} to {last:.4g}, {early:.0%} of it in the first half of the log"
        + (f", and single steps stray by {noise:.3g}" if strays else ""),
        {
            "first": first,
            "last": last,
            "early": early,
            "noise": noise,
            "noisy": bool(strays or few),
            **rate_evidence(rates),
        },
        onset=int(series.steps[0]),
    )
