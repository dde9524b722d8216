"""The training loss does not move, from the first step on.

## What it checks
Whether the loss is flat, shown by an interval of its slope that is narrow and lies around zero: the whole
curve stays within 2 % of its first level. It compares the level with the loss of guessing (ln 50257 = 10.82
for GPT-2's vocabulary, ln 1000 = 6.91 for ImageNet; ln 4 beside an accuracy of a quarter), and looks for one
exact value: of the training loss for half the run, or of the validation at every evaluation.

## Why it matters
A loss that never moves says that nothing is learned: a rate of zero or far too small, frozen or detached
parameters, labels that carry no information, a loss that does not depend on the model.

## When it is harmless
A loss that fell and then stayed has converged; that is not reported. Fine-tuning often moves the loss less
than its noise, so runs that begin from trained weights are judged only by exact repetition and by chance
level. While the learning rate is still warming up there is nothing to judge, unless hundreds of steps pass
at rates below 1e-7. A validation of accuracies alone may repeat because it is perfect or coarse.

## References
- Schuirmann, "A comparison of the two one-sided tests procedure", 1987, on showing equivalence
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.plateau import LEAST_POINTS, Flatness, flatness, longest_constant
from stethoscope.detectors.trend import trend
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.run.names import LOWER, better
from stethoscope.signals.baseline import Baseline, common_size
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss, words
from stethoscope.signals.starting_point import StartingPoint
from stethoscope.signals.validation import Metric, Validation

RULE = Rule(code="LOS103", since="0.1", severity=Severity.WARNING)

STUCK = 0.02  # relative to the first level
QUIET = 0.05  # relative noise of a block above which a slow improvement could hide
NEAR_CHANCE = 0.03
TUNING_RATE = 6e-5  # training from scratch takes more; rates below this usually tune a trained model
USELESS_RATE = 1e-6  # and no tuning takes less
DEAD_RATE = 1e-7  # a warm-up that has not passed this after so many steps
LONG_WARM_UP = 200
NEAR_GUESSING = 0.2  # relative; an accuracy at chance wanders with the size of the held-out set
LEAST_EVALUATIONS = 4  # that agree to the last digit
LEAST_REPEATS = 16
EXACT_DIGITS = 4  # a value printed with fewer digits repeats because it is rounded
IMPROVES = 0.05
FINE = frozenset({"psnr", "ssim"})
COUNTED = frozenset({"error", "wer", "cer"})


def examine(
    loss: TrainLoss,
    start: StartingPoint,
    rates: LearningRate | None,
    baseline: Baseline | None,
    validation: Validation | None,
) -> Iterator[Finding]:
    """Fire when the loss is frozen, at chance level, or has not moved since the start."""
    series = loss.series.finite()
    frozen = _frozen(series, rates) or _frozen_validation(validation, rates)
    if frozen is not None:
        yield frozen
        return
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"{len(series)} values of the loss are too few to call it flat")
    if rates is not None and rates.still_warming_up and not _is_dead(rates):
        raise InsufficientData("the learning rate is still warming up where the log ends")
    if not loss.measures_progress:
        return
    flat = flatness(series.steps, series.values)
    if flat is None or not flat.within(STUCK) or _is_improving(validation):
        return
    chance = _chance(flat, baseline, validation)
    if chance is None and start.knows_its_task:
        return
    if chance is None and not (_from_scratch(start, rates) and flat.noise <= QUIET * abs(flat.initial)):
        return
    sure = chance is not None or start.seems_untrained or (_highest(rates) or 1.0) < USELESS_RATE
    yield _stuck(series, flat, chance, rates, Severity.WARNING if sure else Severity.NOTE)


def _from_scratch(start: StartingPoint, rates: LearningRate | None) -> bool:
    """Whether nothing speaks for trained weights: neither the settings nor a rate fit only for tuning."""
    highest = _highest(rates)
    if highest is None:
        return start.from_scratch
    return start.from_scratch and (highest >= TUNING_RATE or highest < USELESS_RATE)


def _highest(rates: LearningRate | None) -> float | None:
    """The highest rate of any parameter group."""
    return max(float(one.finite().values.max()) for one in rates.groups.values()) if rates else None


def _is_dead(rates: LearningRate) -> bool:
    """Whether a warm-up has gone on for long and led nowhere."""
    steps = rates.main.steps
    highest = _highest(rates)
    return highest is not None and highest < DEAD_RATE and int(steps[-1] - steps[0]) >= LONG_WARM_UP


def _frozen(series: Series, rates: LearningRate | None) -> Finding | None:
    """One exact value for at least half of the run."""
    first, length = longest_constant(series.values)
    if length < max(LEAST_REPEATS, len(series) // 2):
        return None
    value = float(series.values[first])
    zero_throughout = value == 0.0 and first == 0
    if not zero_throughout and _digits(value) < EXACT_DIGITS:
        return None
    begin, end = int(series.steps[first]), int(series.steps[first + length - 1])
    return Finding(
        series.where(begin, end),
        f"{series.name} is exactly {value:.6g} at {length:,} logged steps in a row, from step {begin:,}",
        {
            "series": series.name,
            "frozen": True,
            "value": value,
            "repeats": length,
            "stuck": True,
            "at_first": first == 0,
            "without_rate": _is_without_rate(rates, begin, end),
            **_rate_evidence(rates),
        },
        onset=begin,
        proof="a loss that depends on data and weights does not repeat to the last digit",
    )


def _is_without_rate(rates: LearningRate | None, begin: int, end: int) -> bool:
    """Whether the logged rate is nothing throughout: then no weight has to move."""
    if rates is None:
        return False
    under = rates.main.finite().between(begin, end).values
    return len(under) > 0 and float(under.max()) == 0.0 and _highest(rates) != 0.0


def _frozen_validation(validation: Validation | None, rates: LearningRate | None) -> Finding | None:
    """Every evaluation gives the same number to the last digit: the evaluated weights do not move."""
    metrics = [metric.series for metric in (validation.metrics.values() if validation else ())]
    metrics = [series for series in metrics if len(series) >= LEAST_EVALUATIONS]
    told = [series for series in metrics if _is_exact(series)]
    if not told or any(np.ptp(series.values) != 0.0 for series in metrics) or _highest(rates) == 0.0:
        return None
    series = told[0]
    value, count = float(series.values[0]), len(series)
    return Finding(
        series.where(),
        f"{series.name} is exactly {value:.6g} at all {count:,} evaluations: nothing changes in the model",
        {
            "series": series.name,
            "frozen": True,
            "value": value,
            "repeats": count,
            "stuck": True,
            **_rate_evidence(rates),
        },
        onset=int(series.steps[0]),
        proof="evaluations of weights that change do not agree to the last digit",
    )


def _is_exact(series: Series) -> bool:
    """Whether a metric is fine enough to move with the weights: a share of correct answers is not."""
    measured = better(series.name) == LOWER or bool(words(series.name) & FINE)
    return measured and not words(series.name) & COUNTED and _digits(float(series.values[0])) >= EXACT_DIGITS


def _rate_evidence(rates: LearningRate | None) -> dict[str, object]:
    highest = _highest(rates)
    return {} if highest is None else {"highest_lr": highest}


def _digits(value: float) -> int:
    """How many digits of the value were logged."""
    return len(f"{abs(value):.12g}".partition("e")[0].replace(".", "").strip("0"))


def _chance(
    flat: Flatness, baseline: Baseline | None, validation: Validation | None
) -> tuple[float, str] | None:
    """The loss of guessing, where the curve stands at it or above."""
    known = baseline.chance_loss if baseline else None
    if known is not None:
        at_it = flat.end >= (1.0 - NEAR_CHANCE) * known
        return (known, "the configured number of choices") if at_it else None
    size = common_size(flat.end, NEAR_CHANCE) or _classes_by_accuracy(flat.end, validation)
    return (math.log(size), f"ln {size}") if size else None


def _classes_by_accuracy(loss: float, validation: Validation | None) -> int | None:
    """The number of classes for which both the loss and the accuracy are those of guessing."""
    for name, metric in (validation.judged if validation else {}).items():
        level = float(np.median(metric.series.values))
        if "accuracy" not in words(name) or not 0.0 < level < 0.6:
            continue
        classes = round(1.0 / level)
        if abs(loss / math.log(classes) - 1.0) <= NEAR_CHANCE and abs(level * classes - 1.0) <= NEAR_GUESSING:
            return classes
    return None


def _is_improving(validation: Validation | None) -> bool:
    return validation is not None and any(_improves(metric) for metric in validation.judged.values())


def _improves(metric: Metric) -> bool:
    values = metric.sign * metric.series.values
    line = trend(metric.series.steps, values)
    if line is not None:
        return line.p_rising < 0.01 and line.change > IMPROVES * float(np.median(np.abs(values)))
    return len(values) >= 2 and values[-1] - values[0] > IMPROVES * abs(float(values[0]))


def _stuck(
    series: Series,
    flat: Flatness,
    chance: tuple[float, str] | None,
    rates: LearningRate | None,
    severity: Severity,
) -> Finding:
    steps = int(series.steps[-1] - series.steps[0])
    message = (
        f"{series.name} stays at {flat.end:.4g} for all {steps:,} steps (it began at {flat.initial:.4g})"
    )
    if chance is not None:
        message += f", the level of guessing: {chance[1]} = {chance[0]:.4g}"
    highest = _highest(rates)
    if highest is not None and highest < USELESS_RATE:
        message += f"; the learning rate never exceeds {highest:.1g}"
    evidence: dict[str, object] = {
        "series": series.name,
        "stuck": True,
        "initial": flat.initial,
        "end": flat.end,
        "drift": flat.drift,
        "at_chance": chance is not None,
        "chance": chance[0] if chance else 0.0,
        **_rate_evidence(rates),
    }
    return Finding(
        series.where(),
        message,
        evidence,
        strength=0.9 if chance else 0.6,
        onset=int(series.steps[0]),
        severity=severity,
    )
