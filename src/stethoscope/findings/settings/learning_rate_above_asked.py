"""The log shows a higher learning rate than the settings ask for.

## What it checks
For most of the run the logged rate is at least three times the one asked for, and no scaling by batch or
processes, no second rate among the settings and no schedule that raises the rate accounts for it.

## Why it matters
Another rate is in effect than the one that was chosen: the trainer picked its own, a default of the
schedule won, or the optimizer came from a checkpoint. Whoever changes the setting then changes nothing.

## When it is harmless
Rates that are scaled by the batch, one-cycle and cyclic schedules with a peak of their own, and optimizers
that find their rate themselves are left out. So is a short overshoot, such as that of biases in a warm-up.

## References
- Ultralytics: `optimizer=auto` replaces `lr0`; DeepSpeed: `WarmupLR` without `warmup_max_lr` goes to 0.001
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.schedule_settings import ScheduleSettings
from stethoscope.signals.settings import Settings
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="SET150", since="0.2", severity=Severity.WARNING, subject=Subject.RUN)

TIMES = 3.0  # the rate asked for
MOST = 0.5  # of the lines that must show it
FEWEST_POINTS = 20
NEAR = 0.03
_OTHER_RATES = re.compile(
    r"layer_?decay|lr_?mult|layerwise|paramwise|lr_scale|scale_lr|auto_scale|llrd|max_lr|peak_lr|lr_max|blr|"
    r"one_?cycle|lr_ratio|(?<!num_)warmup_max|total_batch",
    re.IGNORECASE,
)
_ADAPTIVE = re.compile(r"prodigy|dadapt|d_adapt|schedulefree|adafactor|dog\b", re.IGNORECASE)
_BASES = (32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 4096.0)  # batches that people scale rates from


def examine(
    plan: TrainingPlan, rate: LearningRate, settings: Settings | None, schedule: ScheduleSettings | None
) -> Iterator[Finding]:
    """Fire where most of the log shows a rate well above the one asked for."""
    asked = plan["learning rate"].only()
    if asked is None or asked.amount.part or asked.is_default or not asked.amount.number:
        return
    if (schedule is not None and schedule.cyclic) or _has_another_rate(settings, plan):
        return
    series, wanted = rate.main.finite(), float(asked.amount.number)
    if len(series) < FEWEST_POINTS:
        raise InsufficientData(f"the learning rate was logged {len(series)} times")
    above = series.values >= TIMES * wanted
    highest = float(series.values.max())
    if np.mean(above) < MOST or _is_scaled(highest / wanted, plan):
        return
    first = int(series.steps[int(np.argmax(above))])
    yield Finding(
        (asked.setting.where, series.where(first)),
        f"{asked.name} is {wanted:g}, and the log shows a learning rate of up to {highest:g}",
        evidence={"asked": wanted, "highest": highest},
    )


def _has_another_rate(settings: Settings | None, plan: TrainingPlan) -> bool:
    if settings is not None and any(_OTHER_RATES.search(setting.dotted) for setting in settings):
        return True
    return any(_ADAPTIVE.search(str(one.amount.value)) for one in plan["optimizer"].asked)


def _is_scaled(ratio: float, plan: TrainingPlan) -> bool:
    """Whether a ratio is what scaling with batch or processes gives."""
    entries = [plan[name] for name in ("effective batch", "batch per device", "processes", "accumulation")]
    amounts = [one.amount for entry in entries for one in entry.in_effect]
    amounts += [one.amount for entry in entries for one in entry.asked]
    factors = [amount.number for amount in amounts if amount.number]
    whole = [a * b for a in factors for b in (1.0, *factors)]
    scaled = [factor / base for factor in whole for base in (1.0, *_BASES)]
    scaled += [value**0.5 for value in scaled]
    return any(abs(ratio - value) <= NEAR * value for value in scaled)
