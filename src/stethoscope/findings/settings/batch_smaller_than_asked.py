"""The batch of an update is smaller than the settings say.

## What it checks
Where the settings ask for accumulated gradients, whether the training loop gathers them: a loop that was
seen whole and updates the weights after every batch has an effective batch without that factor.

## Why it matters
Gradients are noisier than planned, by the very factor, and a learning rate that was chosen for the larger
batch is too high. Raising the factor, as a cure for noise, changes nothing.

## When it is harmless
An accumulation of 1. A loop of an engine that gathers by itself (Accelerate, Lightning, DeepSpeed,
Transformers), and one that was not seen whole, are not examined. A loop that gathers wrongly is what
accumulation-absent reports.

## References
- A diffusion training with batch 4 and accumulation 16, which reported an effective batch of 64 and had 4.
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.loop.accumulation import gathers_wrongly
from stethoscope.signals.training_loops import TrainingLoops
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="SET106", since="0.2", severity=Severity.WARNING, subject=Subject.SETTINGS)


def examine(plan: TrainingPlan, loops: TrainingLoops | None) -> Iterator[Finding]:
    """Fire where accumulation is asked for and every batch is an update."""
    asked = plan["accumulation"].only()
    if asked is None or (asked.amount.number or 1.0) <= 1.0:
        return
    if not plan.window_is_coded:
        raise InsufficientData("no training loop was seen whole, so its window is not known")
    if plan.unmet_accumulation is None or any(map(gathers_wrongly, loops or ())):
        return
    coded = plan["accumulation"].in_effect
    batch = plan["effective batch"].in_effect
    factor = asked.amount.number or 1.0
    size = f", so that it has {batch[0].amount.value} samples" if batch else ""
    told = f"{asked.name} is {factor:,.0f}, and every batch is an update of its own{size}"
    planned = batch[0].amount.number if batch else None
    if planned is not None:
        told += f" and not {planned * factor:,.0f}"
    yield Finding(
        (asked.setting.where, *(place for one in coded for place in one.where)),
        told,
        evidence={"asked": factor, "in effect": 1},
    )
