"""The gradients of most batches are cleared before any update.

## What it checks
Loops in which the backward pass of every batch comes behind a clearing of the gradients, while the update
comes once behind the loop, or only with every k-th batch.

## Why it matters
What several batches should have gathered is the gradient of the last one. All others were computed for
nothing; where their losses are divided by the number of batches, the update is that much too small, too.

## When it is harmless
A window of one batch. Clearing that is done with the update, and gradients that are set aside before.

## References
- torch.optim.Optimizer.zero_grad
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.loop.forgotten_batches import forgotten_batches
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP400", since="0.6", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each update that is left with the last batch."""
    told: set[object] = set()
    for loop in loops:
        for one in forgotten_batches(loop):
            site = one.zero.event.site
            if site.node in told:
                continue
            told.add(site.node)
            yield Finding(
                (site.where, one.step.event.site.where),
                f"{site.text} comes with every batch and {one.step.event.site.text} with only some: the "
                "gradients of all batches in between are thrown away",
                evidence={"backward": one.backward.event.site.text, "update": one.step.event.site.text},
                proof="every backward pass comes behind a clearing, and not every one before an update",
            )
