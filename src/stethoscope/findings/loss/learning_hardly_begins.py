"""The learning rate is spent, and the loss was still on its first way down.

## What it checks
A run from random weights whose rate has come down to a fifth of its peak or less: whether the loss has lost
less than a quarter of its first value, and has lost it evenly, as much with the second half of all rate as
with a good part of the first. A validation score that is clearly better at the end speaks against it.

## Why it matters
A loss falls fast at first and ever more slowly then. One that falls evenly is still at the very beginning of
that curve, and the schedule is over: the steps were far too small. The rate is too low, or something takes
most of each step away: a clip far below the usual norm, an epsilon above the gradients' size, weights that
round small updates away, gradients that hardly arrive.

## When it is harmless
Trained weights have little to gain; rates below 6e-5 usually tune such, and are reported only beside a share
of right answers that no trained model has. A task with much noise in it has little to learn: there the loss
falls at first and stays. While the rate still warms up or stands, the run is not over.

## References
- Google's deep learning tuning playbook: the learning rate is the first thing to tune
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.levels import levels
from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series, Values
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.starting_point import StartingPoint
from stethoscope.signals.training_plan import TrainingPlan
from stethoscope.signals.validation import Metric, Validation

RULE = Rule(code="LOS242", since="0.5", severity=Severity.WARNING)

LEAST_POINTS = 10
LATE = 0.05  # of the run: what a first mean over so many steps may hide
SPENT = 0.2  # of the peak: the schedule is over
HARDLY = 0.25  # of the first value, at most, is what the loss has lost
SEEN = 0.01  # of it, at least: less is a flat loss, which another rule looks at
EVENLY = (0.3, 0.65)  # of the fall, when half of all rate is used up
NOISES = 3.0
TUNING_RATE = 6e-5  # rates below this usually tune a trained model
GUESSES = 0.25  # a share of right answers below this is that of a network that knows little
FAR_ENOUGH = 0.1  # the sum of all rates of an adaptive optimizer; weights at random are smaller
FAR = 0.5  # of a score or error that a model gains in a run that learned something


def examine(
    loss: TrainLoss,
    rates: LearningRate,
    start: StartingPoint,
    validation: Validation | None,
    plan: TrainingPlan | None,
) -> Iterator[Finding]:
    """Fire where the rate is gone and the loss has only begun to fall."""
    series, rate = loss.series.finite(), rates.main.finite()
    if len(series) < LEAST_POINTS or series.axis != rate.axis or len(rate) < LEAST_POINTS // 2:
        raise InsufficientData("too few losses stand beside a learning rate")
    if not loss.measures_progress or not start.from_scratch:
        return
    if int(series.steps[0]) > LATE * int(series.steps[-1]):
        raise InsufficientData("the log begins when the first and fastest part of the fall may be over")
    under = np.interp(series.steps, rate.steps, rate.values)
    if float(under.max()) <= 0.0 or float(under[-1]) > SPENT * float(under.max()):
        raise InsufficientData("the learning rate has not come down where the log ends")
    first, last = _ends(series.values)
    if float(under.max()) < TUNING_RATE and not _knows_little(validation):
        return
    if first <= 0.0 or not (1.0 - HARDLY) * first < last < (1.0 - SEEN) * first:
        return
    early = (first - float(levels(series.values)[_half_spent(under)])) / (first - last)
    noise = noise_sd(series.values) / math.sqrt(max(1.0, len(series) / 10))
    if not EVENLY[0] <= early <= EVENLY[1] or first - last < NOISES * noise or _has_learned(validation):
        return
    yield Finding(
        (series.where(), rate.where()),
        f"{series.name} falls from {first:.4g} to {last:.4g}, {early:.0%} of it with the first half of all "
        f"rate: it is still at the beginning of its way down, and {rate.name} is spent",
        {
            "first": first,
            "last": last,
            "early": early,
            "peak": float(under.max()),
            "far": _gets_far(rate, plan),
        },
        onset=int(series.steps[0]),
        severity=None if start.seems_untrained else Severity.NOTE,
    )


def _gets_far(rate: Series, plan: TrainingPlan | None) -> bool:
    """Whether the steps, of about the rate each, lead far enough for weights to change their sizes."""
    is_adaptive = plan is not None and plan.is_adaptive
    return (
        bool(is_adaptive)
        and rate.axis == "step"
        and float(np.trapezoid(rate.values, rate.steps)) > FAR_ENOUGH
    )


def _ends(values: Values) -> tuple[float, float]:
    few = max(1, len(values) // 20)
    return float(np.median(values[:few])), float(np.median(values[-max(1, len(values) // 10) :]))


def _half_spent(under: Values) -> int:
    """The value at which half of all rate is used up."""
    used = np.cumsum(under)
    return int(np.searchsorted(used, 0.5 * float(used[-1])))


def _knows_little(validation: Validation | None) -> bool:
    """Whether the first share of right answers is one that no trained model has."""
    held = validation.metrics.get("val/accuracy") if validation is not None else None
    if held is None:
        return False
    percent = 100.0 if float(held.series.values.max()) > 1.0 else 1.0
    return float(held.series.values[0]) / percent < GUESSES


def _has_learned(validation: Validation | None) -> bool:
    """Whether held-out data show a model that has come far."""
    judged = validation.judged.values() if validation is not None else ()
    return any(map(_comes_far, judged))


def _comes_far(metric: Metric) -> bool:
    values = metric.series.values
    first, last = float(values[0]), float(np.median(values[-3:]))
    if len(values) < 3 or first == 0.0:
        return False
    if metric.sign > 0:
        # A share of right answers or of explained variance; decibels and the like have no such bound.
        return 0.0 <= first <= last <= 1.0 and last > FAR
    return last < (1.0 - FAR) * first
