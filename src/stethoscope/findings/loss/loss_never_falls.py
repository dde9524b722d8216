"""The training loss is never lower than where it began.

## What it checks
The loss in eight stretches: whether every one of them lies at or above the first logged value. It needs no
long log: eight values are enough, where a flat curve needs far more to be called flat.

## Why it matters
A run from random weights that has not once been better than its start has learned nothing. Where the loss
stands well above its start, updates made it worse: the rate is too high, gradients are summed up, or the sign
is wrong. Where it stands at its start, nothing arrives at the weights, or there is nothing to learn.

## When it is harmless
Trained weights begin low: where the first scores are good, or a loss that hardly moves still creeps down,
this is only a note. A curriculum or a term that grows raises the loss by design; where a validation metric
improves, the loss does not measure the progress. The losses of a game or of reinforcement learning never do.
While the rate warms up there is nothing to judge.

## References
- Karpathy, "A recipe for training neural networks", 2019
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.robust_stats import median_deviation
from stethoscope.detectors.trend import creeps_down
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series, Values
from stethoscope.run.names import LOWER
from stethoscope.signals.curriculum import Curriculum
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.starting_point import StartingPoint
from stethoscope.signals.validation import Metric, Validation

RULE = Rule(code="LOS106", since="0.2", severity=Severity.WARNING)

LEAST_POINTS = 8
PARTS = 8  # stretches whose medians are levels
BETTER = 0.97  # of the first level: less is a fall
ABOVE = 1.3  # times the first level: worse than doing nothing
EARLY = 0.1  # of the steps: a log that begins later does not show the start
QUIET = 0.05  # relative noise of single values, from which on the first of them says little
FEW = 16  # values: of fewer, a few alike make the noise of single batches look small
NOISES = 4.0  # so many of them above the first value is no accident
TUNING_RATE = 6e-5  # rates below this usually tune a trained model
IMPROVES = 0.05


def examine(
    loss: TrainLoss,
    start: StartingPoint,
    rates: LearningRate | None,
    validation: Validation | None,
    curriculum: Curriculum | None,
) -> Iterator[Finding]:
    """Fire where no stretch of the loss is better than its first value."""
    series = loss.series.finite()
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"{len(series)} values of the loss are too few to say that it never falls")
    if rates is not None and rates.still_warming_up:
        raise InsufficientData("the learning rate is still warming up where the log ends")
    if not loss.measures_progress or curriculum is not None or not _from_scratch(series, start, rates):
        return
    first = float(series.values[0])
    levels = [float(np.median(part)) for part in np.array_split(series.values[1:], PARTS) if len(part)]
    if first <= 0.0 or min(levels) < BETTER * first or _improves(validation):
        return
    last = float(np.median(levels[-3:]))
    noise = _noise(series.values[1:])
    above = min(levels[1:]) >= ABOVE * first and math.log(last / first) >= NOISES * noise
    if not above and noise > QUIET:  # one low batch at the start would look the same
        return
    how = "stands above its start for the whole run" if above else "is never lower than where it began"
    is_known_well = start.knows_its_task or _creeps(series, validation)
    tuned = not above and (is_known_well or not start.seems_untrained)
    yield Finding(
        series.where(),
        f"{series.name} {how}: {first:.4g} at step {int(series.steps[0]):,}, {last:.4g} at the end",
        {"series": series.name, "first": first, "last": last, "lowest": min(levels), "above": above}
        | ({"undecided": True} if tuned and not is_known_well else {}),
        onset=int(series.steps[0]),
        severity=Severity.CRITICAL if above else Severity.NOTE if tuned else None,
    )


def _creeps(series: Series, validation: Validation | None) -> bool:
    held = [one.series for one in (validation.judged if validation else {}).values() if one.better == LOWER]
    return any(creeps_down(one.steps, one.values) for one in (series, *held))


def _noise(values: Values) -> float:
    """How far single values lie from each other, relative to their size."""
    logs = np.log(values[values > 0.0])
    if len(logs) == 0:
        return math.inf
    return max(median_deviation(logs), float(np.std(logs)) if len(logs) < FEW else 0.0)


def _from_scratch(series: Series, start: StartingPoint, rates: LearningRate | None) -> bool:
    begins = int(series.steps[0]) <= max(EARLY * int(series.steps[-1]), series.cadence())
    highest = (
        max((float(one.finite().values.max()) for one in rates.groups.values()), default=1.0)
        if rates
        else 1.0
    )
    return start.from_scratch and begins and highest >= TUNING_RATE


def _improves(validation: Validation | None) -> bool:
    """Whether any validation metric is better at the end than at its first evaluation."""
    return any(map(_is_better_at_the_end, (validation.judged if validation else {}).values()))


def _is_better_at_the_end(metric: Metric) -> bool:
    values = metric.sign * metric.series.values
    first, last = float(values[0]), float(np.median(values[-3:]))
    return len(values) >= 2 and last > first + IMPROVES * abs(first)
