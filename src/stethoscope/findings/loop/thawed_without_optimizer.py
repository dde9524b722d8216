"""Weights are thawed in the middle of the training, and the optimizer does not have them.

## What it checks
Parts of a network that are frozen before the optimizer is made of what needs gradients
(`filter(lambda p: p.requires_grad, ...)`, or a Hugging Face Trainer, which filters by itself) and thawed
later, in a loop or in a hook of a callback: whether anything hands them to the optimizer then.

## Why it matters
Thawed weights get gradients, which cost time and memory and come to nothing: the optimizer never had these
weights. The second stage of the training is the first one, only slower.

## When it is harmless
An optimizer that is made of all weights passes over those without gradients, and takes them up when they
have some. So does one that is given a further group, or made anew; nothing is reported then.

## References
- torch.optim.Optimizer.add_param_group, transformers.Trainer.create_optimizer
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.loop.thawed_too_late import thawed_too_late
from stethoscope.signals.sources import Sources

RULE = Rule(code="LOP875", since="0.9", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each part that is thawed for nothing."""
    for one in thawed_too_late(index(sources.program)):
        yield Finding(
            (one.thawed.where, one.made.where, one.frozen.where),
            f"`{one.name}` is thawed here, and the optimizer was made without it: its weights never move",
            evidence={"part": one.name},
        )
