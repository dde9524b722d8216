"""The run ends far worse than it was: training and held-out data both lost what they had gained.

## What it checks
A training loss of twelve values or more that measures progress: whether it stands, at its end, above its
best level by a tenth or more of all that it had gained and by many times its noise, while every held-out
metric with a known direction has lost half or more of its own gain. Where nothing was held out, the loss
alone must have lost three quarters of its gain, most of it in one leap. It says whether the way up was one
leap, whether it led to the level of the very first steps, and whether the loss comes down once more.

## Why it matters
What a network has learned it does not lose by learning. A leap to the first level means new weights: a
resume that loaded nothing, a network made anew. A leap elsewhere means other data or another rate. A slow
way up means steps that are too large, or weights that something draws away.

## When it is harmless
A curriculum and a restart of the learning rate raise a loss for a while, and held-out scores come back; a
rate that stands high at the end of the log is such a restart, and nothing is said. A game or a reward
measures no progress. Overfitting costs held-out data alone.

## References
- Pascanu, Mikolov and Bengio, "On the difficulty of training recurrent neural networks", 2013
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.lost_ground import LostGround, leaps, lost_ground, rests_high
from stethoscope.findings._usual_rate import rate_evidence
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series, Values
from stethoscope.signals.curriculum import Curriculum
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.validation import Metric, Validation

RULE = Rule(code="LOS760", since="0.8", severity=Severity.WARNING)

LOST_BESIDE = 0.1  # of the gain of the training loss, where held-out data say the same
LOST_ALONE = 0.75  # of it, where nothing was held out
NOISES = 5.0
BEYOND_DOUBT = 8.0
LEAST_GAIN = 0.2  # of the first level: less was never learned
LITTLE_GAIN = 0.05  # and where all of it is lost, on held-out data as well
LEAST_EVALUATIONS = 4
LOST_AT_LEAST = 0.2  # of the best value, where the first evaluation is the best
HELD_OUT_LOST = 0.5  # of what a held-out metric had gained
STEADY = 4.0  # times the noise between evaluations is a gain
AT_THE_START = (0.6, 1.5)  # of the gain: a leap to the level of untrained weights
HIGHER = 1.5  # times the rate at the best level: the rate was raised
OVERSHOOTS = 1.2  # times the first loss
LOWER_THAN = 0.7  # times the highest rate
LEARNS_AGAIN = 0.3  # of the way up
EARLY = 0.25  # of the run: a best level this early


def examine(
    loss: TrainLoss,
    validation: Validation | None,
    rates: LearningRate | None,
    curriculum: Curriculum | None,
) -> Iterator[Finding]:
    """Fire where what was learned is gone at the end."""
    series = loss.series.finite()
    seen = lost_ground(series.values)
    if seen is None:
        raise InsufficientData(f"{len(series)} values of the loss are too few to tell levels")
    if not loss.measures_progress or curriculum is not None or _rate_is_back(rates, series, seen):
        return
    if seen.first <= 0.0 or seen.best < 0.0 or seen.gained < LITTLE_GAIN * seen.first:
        return
    at_once = leaps(series.values, seen)
    if not (_stands_high(seen) or (at_once and _was_sent_back(seen))):
        return
    judged = [one for one in _judged(validation) if len(one.series) >= LEAST_EVALUATIONS]
    beside = bool(judged) and all(map(_has_lost, judged))
    alone = not judged and at_once and seen.lost >= LOST_ALONE
    if seen.gained < LEAST_GAIN * seen.first and not (beside and seen.lost >= LOST_ALONE):
        return
    if not alone and not beside:
        return
    yield _told(series, seen, judged, at_once, rates)


def _stands_high(seen: LostGround) -> bool:
    """Whether the loss ends above its best by more than noise and by a good part of its gain."""
    return seen.lost >= LOST_BESIDE and seen.last - seen.best >= NOISES * seen.noise


def _was_sent_back(seen: LostGround) -> bool:
    """Whether a level behind the best was near the first one, far beyond noise."""
    return seen.returned >= AT_THE_START[0] and seen.peak - seen.best >= BEYOND_DOUBT * seen.noise


def _judged(validation: Validation | None) -> list[Metric]:
    return list(validation.judged.values()) if validation is not None else []


def _has_lost(metric: Metric) -> bool:
    """Whether the last evaluation is as bad as those before most was gained, by far more than noise."""
    values = metric.sign * metric.series.values
    best_at = int(np.argmax(values))
    first, best, last = float(values[0]), float(values[best_at]), float(np.median(values[-2:]))
    if len(values) - best_at <= 2:  # the end is one evaluation away from the best
        last = float(values[-1])
    noise = float(np.median(np.abs(np.diff(values[: best_at + 1])))) if best_at >= 3 else 0.0
    gained, gone = best - first, best - last
    if gained <= 0.0:
        return gone > LOST_AT_LEAST * abs(best)
    return gone >= HELD_OUT_LOST * gained and gone > STEADY * noise


def _rate_is_back(rates: LearningRate | None, series: Series, seen: LostGround) -> bool:
    """Whether the rate ends higher than it stood at the best level, as it had stood before."""
    if rates is None or rates.main.axis != series.axis:
        return False
    rate = rates.main.finite()
    under = np.interp(series.steps, rate.steps, rate.values)
    at_best, at_end = float(under[seen.best_at]), float(under[-1])
    raised = float(under[seen.best_at :].max())
    return max(at_end, raised) > HIGHER * at_best and raised <= 1.01 * float(under[: seen.best_at + 1].max())


def _overshoots(values: Values, seen: LostGround) -> bool:
    """Whether any loss behind the leap is well above that of the untrained network."""
    return float(values[seen.risen_at :].max(initial=0.0)) > OVERSHOOTS * seen.first


def _rate_was_higher(rates: LearningRate | None, step: int) -> bool | None:
    """Whether the rate that the leap happened at had been higher before; None where no rate was logged."""
    rate = rates.main.finite() if rates is not None else None
    if rate is None or len(rate) < LEAST_EVALUATIONS:
        return None
    behind = rate.values[rate.steps >= step]
    return len(behind) > 0 and float(behind.max()) < LOWER_THAN * float(rate.values.max())


def _goes_on(metric: Metric, train: Series, seen: LostGround) -> bool:
    """Whether held-out data get no better, or worse, while training learns again behind the leap."""
    again = seen.peak - seen.last >= LEARNS_AGAIN * (seen.peak - seen.best)
    behind = (metric.sign * metric.series.values)[metric.series.steps >= train.steps[seen.risen_at]]
    return again and len(behind) >= LEAST_EVALUATIONS and float(behind[-1]) <= float(behind[0])


def _told(
    series: Series, seen: LostGround, judged: list[Metric], at_once: bool, rates: LearningRate | None
) -> Finding:
    step = int(series.steps[min(seen.risen_at, len(series) - 1)])
    low, high = AT_THE_START
    to_start = low <= seen.returned <= high
    rests = rests_high(series.values, seen)
    for_good = at_once and (rests or (to_start and not seen.falls_again))
    held = f", and {judged[0].series.name} goes with it" if judged else ""
    how = "leaps" if at_once else "rises"
    return Finding(
        (series.where(step, int(series.steps[-1])), *(one.series.where() for one in judged[:1])),
        f"{series.name} had come from {seen.first:.4g} down to {seen.best:.4g}, {how} to {seen.peak:.4g} "
        f"around step {step:,} and ends at {seen.last:.4g}{held}",
        {
            "first": seen.first,
            "best": seen.best,
            "peak": seen.peak,
            "last": seen.last,
            "at_once": at_once,
            "slowly": not at_once,
            "to_the_start": at_once and to_start,
            "begins_again": at_once and to_start and not for_good,
            "elsewhere": at_once and not to_start and not for_good,
            "for_good": for_good,
            "for_once": at_once and not for_good,
            "beyond_start": at_once and _overshoots(series.values, seen),
            "rate_was_higher": _rate_was_higher(rates, step),
            "held_out_parts": at_once and any(_goes_on(one, series, seen) for one in judged[:1]),
            "early": not at_once and seen.best_at < EARLY * len(series),
            **rate_evidence(rates),
        },
        strength=min(1.0, 0.8 + 0.2 * seen.lost),
        onset=step,
    )
