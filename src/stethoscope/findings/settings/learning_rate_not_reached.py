"""The learning rate that was asked for is never reached.

## What it checks
The highest learning rate in the log against the one in the settings, over a log that begins with the
training and in which the rate is constant, or rises first and then stays or falls.

## Why it matters
The run is not the experiment that its settings describe: a factor in the schedule, a second scheduler or a
setting that is overwritten holds the rate down, and the loss falls as slowly as the rate is low.

## When it is harmless
A log that ends in the warm-up. A rate that is scaled with the batch or with the number of processes, rates
of parameter groups with factors of their own, and optimizers that find their rate themselves are left
alone, and so is a rate above the one asked for.

## References
- torch.optim.lr_scheduler
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.recipe.exported_variables import exported_variables
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.restarts import Restarts
from stethoscope.signals.settings import Settings
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="SET105", since="0.2", severity=Severity.WARNING, subject=Subject.RUN)

REACHED = 0.85  # of the rate asked for; a coarse log misses the very top of a curve
FEWEST_POINTS = 20
NEAR = 0.03
_OWN_RATES = re.compile(
    r"layer_?decay|lr_?mult|layerwise|paramwise|backbone_lr|lr_scale|scale_lr|auto_scale|llrd"
)
_ADAPTIVE = re.compile(r"prodigy|dadapt|d_adapt|schedulefree|adafactor|dog\b", re.IGNORECASE)
_BASES = (32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 4096.0)  # batches that people scale rates from


def examine(
    plan: TrainingPlan, rate: LearningRate, settings: Settings | None, restarts: Restarts | None
) -> Iterator[Finding]:
    """Fire where the logged rate stays well below the one asked for."""
    asked = plan["learning rate"].only()
    if asked is None or asked.amount.part or asked.is_default:
        return
    if settings is not None and any(_OWN_RATES.search(setting.dotted.lower()) for setting in settings):
        return
    if any(_ADAPTIVE.search(str(one.amount.value)) for one in plan["optimizer"].asked):
        return
    if restarts is not None and not restarts.from_scratch:
        return
    top = max(rate.groups.values(), key=lambda series: float(np.max(series.finite().values, initial=0.0)))
    finite = top.finite()
    if len(finite) < FEWEST_POINTS:
        raise InsufficientData(f"the learning rate was logged {len(finite)} times")
    highest, wanted = float(finite.values.max()), asked.amount.number or 0.0
    if highest <= 0 or highest >= REACHED * wanted or rate.still_warming_up:
        return
    first = int(np.argmax(finite.values))
    is_constant = highest <= finite.values.min() * (1 + NEAR)
    if (first == 0 and not is_constant) or _is_scaled(highest / wanted, plan):
        return
    if settings is not None and any(abs(one - highest) <= NEAR * highest for one in _exported(settings)):
        return
    yield Finding(
        (asked.setting.where, finite.where(int(finite.steps[first]))),
        f"{asked.name} is {wanted:g}, and the highest learning rate in the log is {highest:g}",
        evidence={"asked": wanted, "highest": highest},
    )


def _exported(settings: Settings) -> Iterator[float]:
    """The numbers that a launcher puts into the environment: the program may take its rate from there."""
    for file in settings.recipe.files:
        for one in exported_variables(file.text, file.file) if file.syntax == "shell" else ():
            if isinstance(one.value, int | float) and one.value > 0:
                yield float(one.value)


def _is_scaled(ratio: float, plan: TrainingPlan) -> bool:
    """Whether a ratio is what scaling with batch or processes gives."""
    entries = [plan[name] for name in ("effective batch", "batch per device", "processes", "accumulation")]
    amounts = [one.amount for entry in entries for one in entry.in_effect]
    amounts += [one.amount for entry in entries for one in entry.asked]
    factors = [amount.number for amount in amounts if amount.number]
    scaled = [factor / base for factor in factors for base in _BASES] + [1.0 / factor for factor in factors]
    scaled += [value**0.5 for value in scaled]
    return any(abs(ratio - value) <= NEAR * value for value in scaled)
