"""All steps together are too small to take any weight anywhere, and the loss stays where it began.

## What it checks
An adaptive optimizer moves a weight by about the learning rate at each update and hardly ever by more, so the
sum of all rates is as far as a weight can get. The rule fires where that is a small part of what random
weights have to go, a few thousandths, or a small part of what even careful fine-tuning goes, and the loss at
the end is the loss of the beginning.

## Why it matters
Nothing is broken: the program does what it was told, with steps that lead nowhere. More steps will not help
in any time that somebody would wait.

## When it is harmless
While the rate still warms up there is little to see. SGD moves weights by the rate times their gradients,
which may be large: where the optimizer is known to be no adaptive one, nothing is said.

## References
- Kingma and Ba, Adam, 2015, section 2.1: the step is bounded by the rate
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Values
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.starting_point import StartingPoint
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="LOS250", since="0.5", severity=Severity.WARNING)

LEAST_POINTS, LEAST_STEPS = 10, 100
FROM_RANDOM = 3e-3  # the least that weights drawn at random have to go; they are a few hundredths large
FROM_TRAINED = 5e-5  # 5e-7, the lowest rate in use, for a hundred updates
FALLS = 0.02  # of the first loss
NOISES = 3.0


def examine(
    loss: TrainLoss, rates: LearningRate, start: StartingPoint, plan: TrainingPlan | None
) -> Iterator[Finding]:
    """Fire where the sum of all rates is next to nothing, and so is what the loss has gained."""
    series, rate = loss.series.finite(), rates.main.finite()
    if len(series) < LEAST_POINTS or len(rate) < 2 or rate.axis != "step" or series.axis != "step":
        raise InsufficientData("too few losses stand beside a learning rate")
    if rates.still_warming_up or int(rate.steps[-1] - rate.steps[0]) < LEAST_STEPS:
        raise InsufficientData("the learning rate still warms up where the log ends")
    if (
        not loss.measures_progress
        or (plan is not None and plan.is_adaptive is False)
        or _falls(series.values)
    ):
        return
    gone = float(np.trapezoid(rate.values, rate.steps))
    if not 0.0 < gone < (FROM_RANDOM if start.from_scratch else FROM_TRAINED):
        return
    yield Finding(
        (rate.where(), series.where()),
        f"all of {rate.name} together is {gone:.2g}: no weight gets further than that, and {series.name} "
        f"stays at {float(np.median(series.values)):.4g}",
        {"travel": gone, "highest_lr": float(rate.values.max())},
        onset=int(series.steps[0]),
    )


def _falls(values: Values) -> bool:
    few = max(2, len(values) // 10)
    first, last = float(np.median(values[:few])), float(np.median(values[-few:]))
    noise = NOISES * noise_sd(values) / float(np.sqrt(few))
    return first - last > max(FALLS * abs(first), noise)
