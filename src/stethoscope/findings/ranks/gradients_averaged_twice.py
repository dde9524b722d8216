"""A loss is divided by the number of processes, and its gradients are averaged over them once more.

## What it checks
The loss that reaches a backward pass in programs that wrap their network in DistributedDataParallel or
shard it (FSDP): whether it is divided by the world size.

## Why it matters
The wrapper already averages the gradients over all processes. Divided once more they are eight times too
small on eight devices: SGD learns eight times slower, clipping never acts, Adam's epsilon and half precision
weigh more. It looks like a learning rate that is too low, and only with many devices.

## When it is harmless
A sum that becomes a mean by this division, a loss that is multiplied by the world size elsewhere, gradients
that the program adds up by itself, and a loss that is divided for its log line only.

## References
- torch.nn.parallel.DistributedDataParallel: "gradients are averaged"
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.ranks.twice_averaged import twice_averaged
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="RNK229", since="0.4", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each loss that is divided by the processes before it is averaged over them."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for one in twice_averaged(index(sources.program), tree):
        yield Finding(
            (one.divided.where, one.wrapped.where),
            f"`{' '.join(one.divided.text.split())[:60]}` divides by the number of processes,"
            " and the wrapped network averages its gradients over them",
            evidence={"divided": one.divided.text},
        )
