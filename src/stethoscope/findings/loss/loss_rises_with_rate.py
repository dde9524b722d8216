"""The loss stands above its start while the learning rate is high, and comes down with the rate.

## What it checks
Runs whose learning rate rises to a peak and falls again: whether the training loss, single batches aside,
stands a third or more above its first value near the peak, and has left that level once the rate is low.

## Why it matters
An untrained network is as bad as it gets by itself. Where training makes it worse, and less training makes
it better, the steps are too large: all that is learned is learned after the peak, in what is left of the run.

## When it is harmless
A loss that rises with the difficulty of its task, a game or a reward follows something else than the rate.
A spike of a few batches is not a level.

## References
- Gilmer et al., "A Loss Curvature Perspective on Training Instability in Deep Learning"
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Values
from stethoscope.signals.curriculum import Curriculum
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss

RULE = Rule(code="LOS185", since="0.2", severity=Severity.WARNING)

LEAST_POINTS = 24
HALF = 0.5  # of the peak: where the rate begins, ends, and counts as high
ABOVE = 1.3  # times the first value
LEFT = 0.7  # of the highest level
NOISES = 4.0


def examine(loss: TrainLoss, rates: LearningRate, curriculum: Curriculum | None) -> Iterator[Finding]:
    """Fire where the loss is highest under the highest rates."""
    series, rate = loss.series.finite(), rates.main.finite()
    if len(series) < LEAST_POINTS or series.axis != rate.axis:
        raise InsufficientData("too few losses stand beside a learning rate")
    if not loss.measures_progress or curriculum is not None or float(series.values.min()) <= 0.0:
        return
    under = np.interp(series.steps, rate.steps, rate.values)
    highest = float(under.max())
    if max(under[0], under[-1]) > HALF * highest:
        return
    levels = _levels(series.values)
    at = int(np.argmax(np.where(under >= HALF * highest, levels, -math.inf)))
    first, top = float(series.values[0]), float(levels[at])
    last = float(np.median(series.values[-max(3, len(series) // 10) :]))
    noise = noise_sd(np.log(series.values))
    if top < ABOVE * first or last > LEFT * top or math.log(top / first) < NOISES * noise:
        return
    yield Finding(
        (series.where(), rate.where()),
        f"{series.name} is {first:.4g} at first, {top:.4g} at step {int(series.steps[at]):,} while "
        f"{rate.name} is high ({under[at]:.3g}), and {last:.4g} once it is low",
        {"first": first, "top": top, "last": last, "rate": float(under[at])},
        onset=int(series.steps[0]),
    )


def _levels(values: Values) -> Values:
    """Medians of stretches around each value: what a few batches do is no level."""
    wide = max(3, len(values) // 20) | 1
    padded = np.pad(values, wide // 2, mode="edge")
    levels: Values = np.median(np.lib.stride_tricks.sliding_window_view(padded, wide), axis=1)
    return levels
