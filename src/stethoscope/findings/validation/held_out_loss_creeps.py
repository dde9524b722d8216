"""Held-out errors fall by a little at every evaluation, along a straight line over the rate that was used up.

## What it checks
A run from random weights with five evaluations or more of a loss or an error: whether it falls nearly every
time and by less than a third in all, in a straight line over the sum of all learning rates so far (over the
steps, where no rate was logged), as far as its own noise goes. The same held-out data every time show a fall
of a thousandth that the noise of training batches hides.

## Why it matters
Where weights learn at all, the first steps gain most and the curve bends. A straight line is the very
beginning of it: every step goes the right way and is far too small. The rate is too low, or something takes
most of each step away, a clip far below the usual norm or an epsilon above the gradients' size. Labels that
say nothing, dead units and steps that are too large draw no such line.

## When it is harmless
A run that was stopped early is still at its beginning, and trained weights may go on like this for long. So
this is mostly a note, which tells causes apart. It is a warning where the rate, which is none for tuning, has
come down to a fifth of its peak, so that nothing is to come, and something speaks for random weights: what
else is known of the run, or a fall of a quarter, which trained weights do not make without a bend.

## References
- Google's deep learning tuning playbook: the learning rate is the first thing to tune
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.common_axis import on_axis_of
from stethoscope.findings._usual_rate import rate_evidence
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series, Values
from stethoscope.run.names import LOWER
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.starting_point import StartingPoint
from stethoscope.signals.validation import EVALUATE_MORE, Validation

RULE = Rule(code="VAL992", since="0.9", severity=Severity.WARNING)

LEAST_EVALUATIONS = 5
LITTLE = 0.33  # of the first value, at most, is what it loses
SEEN = 1e-4  # of it, at least: less may be the rounding of a sum
MOSTLY = 0.75  # of the evaluations are lower than the one before
STRAIGHT = 0.1  # of the whole fall: how far evaluations lie from the line
HALF = (0.35, 0.65)  # of the fall, when half of the rate is used up
EARLY = 0.2  # of the rate: what is used up at the first evaluation
SPENT = 0.2  # of the peak: the schedule is over
MANY = 8  # evaluations, for a straight line that is no accident
CLOSE = 0.1  # so near to the half, too
MUCH = 0.25  # of the first value
TUNING_RATE = 6e-5  # rates below this usually tune a trained model


def examine(
    validation: Validation, loss: TrainLoss, start: StartingPoint, rates: LearningRate | None
) -> Iterator[Finding]:
    """Note held-out errors that fall as evenly as the rate is used up."""
    if not loss.measures_progress or not start.from_scratch:
        return
    errors = [one.series for one in validation.judged.values() if one.better == LOWER]
    errors = [one for one in errors if len(one) >= LEAST_EVALUATIONS]
    if not errors:
        raise InsufficientData("no error on held-out data was logged often enough", EVALUATE_MORE)
    seen = [(one, _early(one, rates)) for one in errors]
    straight = [(one, early) for one, early in seen if early is not None]
    if len(straight) < len(errors):
        return
    held, early = straight[0]
    first, last, spent = float(held.values[0]), float(held.values[-1]), _is_spent(rates)
    yield Finding(
        held.where(),
        f"{held.name} falls from {first:.6g} to {last:.6g}, nearly every time and {early:.0%} of it with the "
        "first half of all steps: it has not begun to bend",
        {"first": first, "last": last, "early": early, "spent": spent, **rate_evidence(rates)},
        onset=int(held.steps[0]),
        severity=None if spent and _is_sure(held, early, start) else Severity.NOTE,
    )


def _is_sure(held: Series, early: float, start: StartingPoint) -> bool:
    """Whether the line is straight beyond doubt, and one of random weights."""
    much = held.values[0] - held.values[-1] >= MUCH * held.values[0]
    return len(held) >= MANY and abs(early - 0.5) <= CLOSE and (start.seems_untrained or bool(much))


def _is_spent(rates: LearningRate | None) -> bool:
    """Whether the rate had a height to learn by, and has come down from it for good."""
    rate = rates.main.finite().values if rates is not None else np.zeros(0)
    return len(rate) > 1 and float(rate.max()) >= TUNING_RATE and float(rate[-1]) <= SPENT * float(rate.max())


def _early(held: Series, rates: LearningRate | None) -> float | None:
    """The share of the fall that the first half of the rate has made; None for no straight fall."""
    values = held.values
    first, fall = float(values[0]), float(values[0] - values[-1])
    if first <= 0.0 or not SEEN * first < fall < LITTLE * first:
        return None
    if float(np.mean(np.diff(values) < 0.0)) < MOSTLY:
        return None
    used = _used_up(held, rates)
    if used is None or used[0] > EARLY * used[-1]:
        return None
    share = (used - used[0]) / (used[-1] - used[0])
    slope, level = np.polyfit(share, values, 1)
    if float(np.sqrt(np.mean((values - slope * share - level) ** 2))) > STRAIGHT * fall:
        return None
    early = (first - float(np.interp(0.5, share, values))) / fall
    return early if HALF[0] <= early <= HALF[1] else None


def _used_up(held: Series, rates: LearningRate | None) -> Values | None:
    """The sum of all rates up to each evaluation; the steps where none was logged."""
    steps = held.steps.astype(np.float64)
    rate = rates.main.finite() if rates is not None else None
    if rate is not None and len(rate) > 1:
        at = on_axis_of(rate, held).astype(np.float64)
        sums = np.concatenate([[0.0], np.cumsum(np.diff(at) * (rate.values[1:] + rate.values[:-1]) / 2.0)])
        steps = np.interp(steps, at, sums)
    return steps if float(steps[-1]) > float(steps[0]) >= 0.0 else None
