"""Each update is made of one or two samples, at a rate that suits dozens.

## What it checks
The effective batch (samples at a time, gathered batches and processes together) against the learning rate, in
trainings of networks that give one answer for each sample: one or two, at two thousandths or more
of Adam and its kind, or at a twentieth or more of plain SGD.

## Why it matters
The gradient of a few samples is mostly noise, and each step follows it by the rate. The noise keeps the
weights away from the minimum by as much as the rate is too high for it; the loss falls, and stays high.

## When it is harmless
A sample may hold much: all pixels of a picture, a text, a whole graph or every point of an equation. A
schedule that brings the rate down to nothing lets the weights settle. Both are common: this is a note, unless
the loss ends above half of its first level.
Networks that are trained on noisy input are left alone.

## References
- McCandlish et al., "An Empirical Model of Large-Batch Training", 2018
- Smith et al., "Don't Decay the Learning Rate, Increase the Batch Size", 2018
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings._adams_rate import is_poor
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.signals.batch_norms import BatchNorms
from stethoscope.signals.denoising import DenoisingObjective
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.starting_point import StartingPoint
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="SET710", since="0.8", severity=Severity.WARNING, subject=Subject.SETTINGS)

FEW = 2.0
HIGH_ADAPTIVE = 2e-3  # twice the rate that Adam comes with, which is used with 32 samples and more
HIGH_PLAIN = 0.05  # half of what SGD is used with for 256 samples


def examine(
    plan: TrainingPlan,
    norms: BatchNorms | None,
    start: StartingPoint,
    denoising: DenoisingObjective | None,
    loss: TrainLoss | None,
) -> Iterator[Finding]:
    """Note a batch of few samples beside a rate for many."""
    each, rate = plan["batch per device"].only(), plan["learning rate"].only()
    count = plan["effective batch"].in_effect
    if each is None or rate is None or not count or plan.is_adaptive is None:
        raise InsufficientData("the settings do not name one batch and one learning rate")
    samples, height = count[0].amount.number or 1.0, rate.amount.number or 0.0
    highest = HIGH_ADAPTIVE if plan.is_adaptive else HIGH_PLAIN
    is_dense = (norms is not None and norms.dense) or denoising is not None
    if samples > FEW or height < highest or is_dense or not start.from_scratch:
        return
    spoken = f"{samples:g} sample{'s' if samples > 1 else ''}"
    yield Finding(
        (each.setting.where, rate.setting.where),
        f"each update is made of {spoken} ({count[0].said}), at {rate.name} {height:g}",
        {"samples": samples, "rate": height},
        severity=None if loss is not None and len(loss.series.finite()) and is_poor(loss) else Severity.NOTE,
    )
