"""The validation loss rises while the training loss keeps falling.

## What it checks
Whether the validation loss (or another error that should fall) has passed its minimum, by the same test as
peak-then-decline, while the training loss at the end is clearly lower than it was at that minimum. With
fewer than twelve evaluations, whether the last ones rise one after another: six values in random order are
in rising order once in 720 times.

## Why it matters
From the minimum on, the model learns the training set by heart. What it gains there it loses on every other
input.

## When it is harmless
Rises below a tenth are notes, unless they undo a good part of what held-out data had gained. In
classification and language tuning the validation loss often rises while the accuracy still improves: the
model grows more certain, also where it errs. Then rises below 50 % are notes.

## References
- Guo et al., "On Calibration of Modern Neural Networks", 2017
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from stethoscope.detectors.common_axis import on_axis_of
from stethoscope.detectors.peak import LEAST_POINTS, peak
from stethoscope.detectors.rising_run import rising_run
from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.detectors.trend import trend
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.curriculum import Curriculum
from stethoscope.signals.loss import TrainLoss, words
from stethoscope.signals.validation import EVALUATE_MORE, LOG_THIS, Metric, Validation

RULE = Rule(code="VAL102", since="0.1", severity=Severity.WARNING)

SMALL = 0.02
LEAPS, MANY_NOISES = 0.1, 8.0  # of what training had gained, and deviations of its noise
ACCURACIES = frozenset({"accuracy", "acc", "acc1", "top1", "recall"})
MOST_GUESSED = 0.4  # of the answers: among two, an accuracy says less
NEAR_GUESSING, MOST = 1.25, 1.6  # times the share that guessing gets right
MILD_RISE = 0.1  # less is the usual end of a good training, which the best checkpoint avoids
OF_GAIN = 0.25  # what held-out data gained that a smaller rise must undo to matter
NEGLIGIBLE = 0.001
RARE = 0.01
HUGE_RISE = 0.2  # with this much, three rises in a row beside a falling training loss are enough
LARGE_RISE = 0.5  # with less, certainty alone may have grown where a score still improves
FEW_RISES = 3
LEAST_EVALUATIONS = 4
MOST_RISING = 64  # errors that rise are held against the training loss
STILL_FALLING = 0.02  # of the training loss at the minimum
FALLS_FAR = 0.3
NO_GAIN = 0.9  # times the first training loss: held-out data never were better off than that
WORSE = 1.2  # times the first training loss
LITTLE_FITTED = 0.3  # of the first training loss is left at the first evaluation
BY_HEART = 0.05  # of the first training loss
POOR = 0.5  # a share of right answers below this
GAIN = 0.05  # of all answers: less is none


@dataclass(frozen=True, slots=True)
class Rise:
    """The rise of a validation error after its minimum."""

    best_step: int
    best: float
    end: float
    p: float

    @property
    def relative(self) -> float:
        """The rise relative to the minimum."""
        return (self.end - self.best) / max(abs(self.best), 1e-300)


def examine(validation: Validation, loss: TrainLoss, curriculum: Curriculum | None) -> Iterator[Finding]:
    """Fire on the first error that rises while the training loss falls."""
    errors = [metric for metric in validation.judged.values() if metric.better == "lower"]
    errors.sort(key=lambda metric: metric.series.name != "val/loss")
    if not errors:
        raise InsufficientData("no validation loss was logged", LOG_THIS)
    if all(len(metric.series) < LEAST_EVALUATIONS for metric in errors):
        most = max(len(metric.series) for metric in errors)
        raise InsufficientData(f"cannot tell overfitting with {most} evaluations", EVALUATE_MORE)
    if not loss.measures_progress:
        return
    train = loss.series.finite()
    rising = ((metric, seen) for metric in errors if (seen := _rise(metric.series, train)) is not None)
    for metric, seen in islice(rising, MOST_RISING):
        levels = _train_levels(train, metric.series, seen.best_step) if seen.relative >= NEGLIGIBLE else None
        if levels is not None:
            yield _finding(metric, seen, levels, loss, validation, curriculum)
            return


def _rise(errors: Series, train: Series) -> Rise | None:
    if len(errors) >= LEAST_POINTS:
        seen = peak(errors.steps, -errors.values)
        if seen is not None and seen.declines:
            return Rise(seen.best_step, -seen.best, -seen.end, seen.p)
        return None
    if len(errors) < LEAST_EVALUATIONS:
        return None
    rising = rising_run(errors.values)
    best = int(np.argmin(errors.values))
    rise = Rise(int(errors.steps[best]), float(errors.values[best]), float(errors.values[-1]), rising.p)
    if rising.start > best + 1 or rise.relative < SMALL:
        return None
    if rising.p < RARE and rise.relative >= 0.05:
        return rise
    levels = _train_levels(train, errors, rise.best_step)
    far = levels is not None and levels[1] < (1.0 - FALLS_FAR) * levels[0]
    return rise if rising.rises >= FEW_RISES and rise.relative >= HUGE_RISE and far else None


def _train_levels(train: Series, errors: Series, since: int) -> tuple[float, float] | None:
    """The training loss around the validation minimum and at the end, where it has clearly fallen."""
    if len(train) < LEAST_EVALUATIONS:
        return None
    train = replace(train, steps=on_axis_of(train, errors))
    part = max(2, len(train) // 20)
    at = int(np.searchsorted(train.steps, since))
    then = float(np.median(train.values[max(0, at - part) : at + part]))
    end = float(np.median(train.values[-part:]))
    after = train.select(slice(at, None))
    falling = trend(after.steps, after.values)
    clear = then - end > max(STILL_FALLING * abs(then), 2.0 * noise_sd(train.values) / part**0.5)
    return (then, end) if clear or (falling is not None and falling.p_falling < RARE) else None


def _finding(
    metric: Metric,
    seen: Rise,
    train: tuple[float, float],
    loss: TrainLoss,
    validation: Validation,
    curriculum: Curriculum | None,
) -> Finding:
    series = metric.series
    last = int(series.steps[-1])
    better = validation.still_improves(seen.best_step)
    message = (
        f"{series.name} rises from {seen.best:.4g} at step {seen.best_step:,} to {seen.end:.4g} while "
        f"{loss.series.name} falls from {train[0]:.4g} to {train[1]:.4g}"
    )
    if better:
        message += f"; {better} still improves"
    return Finding(
        (series.where(seen.best_step, last), loss.series.where()),
        message,
        {
            "metric": series.name,
            "best_step": seen.best_step,
            "best_value": seen.best,
            "end_value": seen.end,
            "rise_relative": seen.relative,
            "train_at_best": train[0],
            "train_end": train[1],
            "gap_at_best": seen.best - train[0],
            "gap_end": seen.end - train[1],
            "p": seen.p,
            "evaluations": len(series),
            "still_improves": better,
            "never_transfers": seen.best_step == int(series.steps[0]) and _never_transfers(validation),
            "apart_at_once": series.name == "val/loss" and _apart_at_once(series, seen.best_step, loss),
            "never_gained": series.name == "val/loss" and _never_gained(series, loss),
            "after_a_leap": _leaps_up(loss.series.finite(), series, seen.best_step),
            "at_chance": _guesses(validation, loss),
            "follows_difficulty": curriculum is not None and curriculum.explains(series, seen.best_step),
        },
        strength=min(1.0, 0.4 + 4.0 * seen.relative),
        onset=seen.best_step,
        severity=Severity.WARNING if _matters(seen, series, better) else Severity.NOTE,
    )


def _matters(seen: Rise, held: Series, better: str) -> bool:
    gained = float(held.values[0]) - seen.best
    undone = OF_GAIN * gained <= seen.end - seen.best <= gained
    return seen.relative >= (LARGE_RISE if better else 0.5 * MILD_RISE if undone else MILD_RISE)


def _never_gained(held: Series, loss: TrainLoss) -> bool:
    """Whether no evaluation was better than the untrained network's first training losses."""
    untrained = float(np.median(loss.series.finite().values[:3]))
    return untrained > 0.0 and float(held.values.min()) >= NO_GAIN * untrained


def _apart_at_once(held: Series, best_step: int, loss: TrainLoss) -> bool:
    """Whether held-out data were worse off than an untrained network when little had been fitted yet."""
    train = loss.series.finite()
    untrained = float(train.values[:3].max())
    if untrained <= 0.0 or best_step > int(held.steps[len(held) // 5]):
        return False
    at = int(np.searchsorted(on_axis_of(train, held), held.steps[0]))
    fitted = float(np.median(train.values[max(0, at - 2) : at + 1]))
    # Means over epochs hide how soon a few samples are known by heart; in the end nothing is left of them.
    by_heart = at < 2 and float(np.median(train.values[-3:])) <= BY_HEART * untrained
    worse = float(held.values.min()) >= WORSE * untrained
    return worse and fitted >= LITTLE_FITTED * untrained and not by_heart


def _leaps_up(train: Series, held: Series, best_step: int) -> bool:
    """Whether the training loss leaps to a higher level around the best evaluation, for some lines."""
    steps = on_axis_of(train, held)
    best = int(np.searchsorted(held.steps, best_step))
    since, until = held.steps[max(0, best - 1)], held.steps[min(len(held) - 1, best + 2)]
    before, behind = train.values[steps <= since], train.values[(steps > since) & (steps <= until)]
    if len(before) < LEAST_EVALUATIONS or len(behind) == 0:
        return False
    level, gained = float(np.median(before[-3:])), float(before[0] - np.median(before[-3:]))
    lasting = float(np.sort(behind)[-min(2, len(behind))])
    return lasting - level >= max(LEAPS * gained, MANY_NOISES * noise_sd(before)) > 0.0


def _guesses(validation: Validation, loss: TrainLoss) -> bool:
    """Whether no accuracy was ever above guessing, among as many as the first training losses tell."""
    guessed = math.exp(-max(0.0, float(np.median(loss.series.finite().values[:3]))))
    shares = [one.series for name, one in validation.judged.items() if words(name) & ACCURACIES]
    if not shares or guessed > MOST_GUESSED:
        return False
    values = shares[0].values / (100.0 if float(shares[0].values.max()) > 1.0 else 1.0)
    return float(np.median(values)) <= NEAR_GUESSING * guessed and float(values.max()) <= MOST * guessed


def _never_transfers(validation: Validation) -> bool:
    """Whether a share of right answers was logged that is poor and was never better than at first."""
    shares = [
        metric.series.values
        for metric in validation.judged.values()
        if metric.better == "higher"
        and metric.series.values.min() >= 0.0
        and metric.series.values.max() < POOR
    ]
    return any(
        len(values) >= LEAST_EVALUATIONS and np.median(values[-(len(values) // 3 + 1) :]) < values[0] + GAIN
        for values in shares
    )
