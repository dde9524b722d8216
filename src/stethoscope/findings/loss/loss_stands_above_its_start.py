"""For a good part of the run the loss stands above where it began, and comes back later.

## What it checks
The training loss of a run from random weights, single batches aside: whether its level lies a tenth or more
above the first logged value for at least a seventh of the run, or at three times as much for a twentieth, by
far more than its noise. The learning rate
need not be logged.

## Why it matters
Random weights know nothing. Updates that leave the network worse than that for long are too large for it, or
point elsewhere: a rate that is too high, gradients that are summed up, a warm-up that is missing. Whatever is
learned is learned in what is left of the run.

## When it is harmless
A few steps above the start are usual with momentum. A task that becomes harder, a term that comes in later, a
game and a reward raise a loss by design. A logger that averages from zero begins too low: its first values
rise one after another, and nothing is said.

## References
- Google's deep learning tuning playbook: how to see early instability
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.levels import levels
from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series, Values
from stethoscope.signals.curriculum import Curriculum
from stethoscope.signals.loss import TrainLoss, words
from stethoscope.signals.starting_point import StartingPoint
from stethoscope.signals.validation import Metric, Validation

RULE = Rule(code="LOS240", since="0.5", severity=Severity.WARNING)

LEAST_POINTS = 12
EARLY = 0.07  # of the steps: a log that begins later does not show the start
ABOVE = 1.1  # times the first value
LASTS = 0.15  # of the logged values
FAR_ABOVE, LASTS_FAR = 3.0, 0.05  # times the first value, and how long such a level lasts at least
NOISES = 2.5  # by which the first value itself may be too low
HIGHEST = 50.0  # exponents: what wanders further is taken for wandering that far
WANDERS = 3.5  # deviations of what has a memory: first value and level both stray by it
CLEARLY = 1.5  # times the first value: less may be how a trained network strays
ALONE = 1.4  # times as far strays a first value that no other stands for
STRAYS, MANY = 0.1, 60  # relative noise of single values, and how many make the first ones dispensable
RISES_IN_A_ROW = 8  # the first values of an average that begins at zero
# Scores that cannot come down from nowhere: errors improve after any leap.
SCORES = frozenset({"psnr", "ssim", "accuracy", "acc", "map", "bleu"})
LEARNED = 0.5  # of the first value: a loss that was below for long had been trained well enough
IMPROVES = 0.1  # of its first value: what a validation error gains while the loss is high


def examine(
    loss: TrainLoss,
    start: StartingPoint,
    curriculum: Curriculum | None,
    validation: Validation | None,
) -> Iterator[Finding]:
    """Fire where a level above the start lasts."""
    series = loss.series.finite()
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"{len(series)} values of the loss are too few to tell a level from a spike")
    if not loss.measures_progress or curriculum is not None or not _shows_the_start(series, start):
        return
    noise = _noise(series.values)
    first, level = _first(series.values, noise), levels(series.values)
    doubt = ALONE if noise > STRAYS and len(series) < MANY else 1.0
    if first <= 0.0 or _averages_from_zero(series.values) or _terms_come_later(loss, series):
        return
    if float(level.max()) <= first * math.exp(min(doubt * WANDERS * _wandering(series.values), HIGHEST)):
        return
    bar = first * max(ABOVE, math.exp(doubt * NOISES * noise))
    above = np.flatnonzero(level > bar)
    far = np.count_nonzero(level > FAR_ABOVE * bar) >= max(LASTS_FAR * len(series), 3)
    if not far and len(above) < max(LASTS * len(series), 3):
        return
    if _improves(validation, int(series.steps[above[-1]]), SCORES if far else None):
        return
    top, last = float(level.max()), float(np.median(series.values[-max(1, len(series) // 10) :]))
    begin, end = int(series.steps[above[0]]), int(series.steps[above[-1]])
    learned = bool(np.count_nonzero(level[: above[0]] < LEARNED * first) > LASTS * len(series))
    yield Finding(
        series.where(begin, end),
        f"{series.name} begins at {first:.4g} and stands above it at {len(above)} of {len(series)} logged "
        f"steps, between {begin:,} and {end:,}: {top:.4g} at its highest, {last:.4g} at the end",
        {
            "first": first,
            "top": top,
            "last": last,
            "share": len(above) / len(series),
            "learned_before": learned,
        },
        strength=min(1.0, 0.7 + len(above) / len(series)),
        onset=begin,
        severity=None if start.seems_untrained or top >= CLEARLY * first else Severity.NOTE,
    )


def _shows_the_start(series: Series, start: StartingPoint) -> bool:
    begins = int(series.steps[0]) <= max(EARLY * int(series.steps[-1]), series.cadence())
    return start.from_scratch and begins


def _averages_from_zero(values: Values) -> bool:
    """Whether the first values climb one after another, as a running mean does that begins at nothing."""
    return len(values) > RISES_IN_A_ROW and bool(np.all(np.diff(values[: RISES_IN_A_ROW + 1]) > 0.0))


def _terms_come_later(loss: TrainLoss, series: Series) -> bool:
    """Whether a logged part of the loss begins after the loss itself."""
    return any(
        len(term) and int(term.steps[0]) > int(series.steps[0]) + series.cadence()
        for term in loss.terms.values()
    )


def _noise(values: Values) -> float:
    positive = values[values > 0.0]
    return noise_sd(np.log(positive)) if len(positive) > 2 else math.inf


def _wandering(values: Values) -> float:
    """How far the loss drifts about its own course where it is as calm as usual.

    Noise with a memory moves little from one value to the next, and far over many of them.
    """
    thirds = np.array_split(np.log(np.maximum(values, 1e-300)), 3)
    return float(np.median([_around_a_line(third) for third in thirds]))


def _around_a_line(values: Values) -> float:
    at = np.arange(len(values)) - (len(values) - 1) / 2.0
    centred = values - values.mean()
    residuals = centred - at * float(at @ centred) / float(at @ at)
    return float(np.sqrt(np.mean(residuals**2)))


def _first(values: Values, noise: float) -> float:
    """The first value, or the middle of the first three where single ones stray and many were logged."""
    return float(np.median(values[:3])) if noise > STRAYS and len(values) >= MANY else float(values[0])


def _improves(validation: Validation | None, until: int, among: frozenset[str] | None) -> bool:
    """Whether held-out data say that the model gets better all the while: then the loss measures else."""
    judged = validation.judged.values() if validation is not None else ()
    asked = (metric for metric in judged if among is None or words(metric.series.name) & among)
    return any(_gains(metric, until) for metric in asked)


def _gains(metric: Metric, until: int) -> bool:
    values = metric.sign * metric.series.values[metric.series.steps <= until]
    if len(values) < 3:
        return False
    first, last = float(values[0]), float(np.median(values[-2:]))
    return last > first + IMPROVES * abs(first) and last > float(np.median(values))
