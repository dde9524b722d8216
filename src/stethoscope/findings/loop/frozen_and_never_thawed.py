"""A network is switched off in every round, and nothing switches it on again, though its optimizer steps.

## What it checks
`requires_grad_(False)`, and the same for each weight, inside a training loop and under no condition: whether
an optimizer that holds all weights of that network steps in the loop, and nothing ever switches its gradients
on again.

## Why it matters
A critic is switched off while the generator learns from it, which saves time. Left so, it gets no gradients
from the second round on: its optimizer steps over nothing, the loss of the critic stays what it is, and the
generator runs against a judge of random weights.

## When it is harmless
Freezing before the loop, or under a condition (for a warm-up, for some epochs), is a choice. A network whose
weights no optimizer holds, such as a teacher or an average, is meant to stay frozen.

## References
- torch.nn.Module.requires_grad_
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.loop.frozen_for_good import frozen_for_good
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="LOP530", since="0.9", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each network that is frozen for good in its first round."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for one in frozen_for_good(index(sources.program), tree):
        yield Finding(
            (one.frozen.where, one.stepped.where),
            "these gradients are switched off in each round and never on again: its optimizer "
            "has no gradients",
            evidence={"frozen": " ".join(one.frozen.text.split())[:120]},
        )
