"""A training step computes its loss and does not give it back.

## What it checks
The `training_step` of Lightning modules that leave the optimizing to Lightning: whether it computes a loss,
and no way through it returns anything.

## Why it matters
Lightning minimises what the step returns. A step that returns nothing is passed over: no gradient, no update,
and one warning at the start. The loss is logged all the same, and stays where it was.

## When it is harmless
A module with `automatic_optimization = False` calls the backward pass itself. A step that only raises is
a form for others to fill in.

## References
- lightning.pytorch.LightningModule.training_step
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.loop.silent_steps import silent_steps
from stethoscope.signals.sources import Sources

RULE = Rule(code="LOP931", since="0.9", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each step that keeps its loss to itself."""
    for one in silent_steps(index(sources.program)):
        yield Finding(
            (one.loss.where, one.step.where()),
            f"{one.step.spoken} computes a loss and returns nothing: Lightning passes every batch over",
            evidence={"loss": one.loss.text},
        )
