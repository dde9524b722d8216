"""Batch norm takes its statistics from two or three samples.

## What it checks
Whether the source makes batch norms whose statistics are neither shared between devices nor frozen, and how
many samples a device has at a time. Gathered gradients do not help: each batch is normed by itself.

## Why it matters
The mean and deviation of two or three samples are mostly noise. In training each sample is normed by its
neighbours; in evaluation by an average over all of them, which is another network. The training loss looks
fine and validation is poor and erratic.

## When it is harmless
Four samples are only noted, and so is any number where the network answers for each place of a
picture: there each sample holds many. Graphs and clouds of points are not looked at. Group, instance and
layer norm do not look at other samples. Frozen and synchronised norms are not looked at.

## References
- Wu and He, Group Normalization, 2018: error by batch size
- Wu and Johnson, Rethinking "Batch" in BatchNorm, 2021
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.signals.batch_norms import BatchNorms
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="SET134", since="0.3", severity=Severity.WARNING, subject=Subject.SETTINGS)

TOO_FEW = 3  # the error rises by a sixth with 4, by half with 2 (Wu and He, ResNet-50 on ImageNet)
FEW = 4


def examine(norms: BatchNorms, plan: TrainingPlan) -> Iterator[Finding]:
    """Fire where a device has so few samples that their statistics are noise."""
    if not norms.made:
        return
    asked = plan["batch per device"].only()
    number = asked.amount.number if asked is not None else None
    if asked is None or number is None or number < 1:
        raise InsufficientData("the settings do not name one batch size")
    is_bad = number <= TOO_FEW and not norms.dense
    if number <= FEW:
        yield Finding(
            (asked.setting.where, *norms.made[:2]),
            f"{asked.name} is {number:g}, and batch norm takes its mean and deviation "
            "from each batch by itself",
            evidence={"batch": number, "layers": len(norms.made)},
            strength=1.0 if is_bad else 0.0,
            severity=None if is_bad else Severity.NOTE,
        )
