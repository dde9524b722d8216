"""A loss is divided by the batches of an update, which its engine does as well.

## What it checks
Programs that let an Accelerator (`gradient_accumulation_steps`), a Lightning Trainer
(`accumulate_grad_batches`) or DeepSpeed's engine gather gradients: whether the loss that they get is divided
by that same number.

## Why it matters
Both divide every loss by themselves. Divided twice, gradients are that many times too small: SGD learns
slower, a limit on their norm never acts, and Adam's epsilon weighs more.

## When it is harmless
A loss that is divided for its log line only, or by another number. An Accelerator that is told nothing
divides by one.

## References
- accelerate.Accelerator.backward, lightning.pytorch.Trainer, deepspeed.DeepSpeedEngine.backward
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.loop.engines_passed_by import divided_twice
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="LOP228", since="0.4", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each loss that is divided by hand and by its engine."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for one in divided_twice(index(sources.program), tree):
        yield Finding(
            (one.divided.where, one.engine.where),
            f"`{' '.join(one.divided.text.split())[:60]}` is divided by the same number once more"
            " by what it is handed to",
            evidence={"divided": one.divided.text},
        )
