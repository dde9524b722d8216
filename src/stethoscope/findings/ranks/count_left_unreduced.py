"""A score is the sum of all ranks over the count of one.

## What it checks
Functions that bring numbers of several processes together: whether a ratio is taken of two sums over batches,
of which `all_reduce` was given one and not the other.

## Why it matters
With eight processes the score is eight times too large, or an eighth of what it is: an accuracy above one, or
a loss that falls with the number of devices. Runs on different numbers of devices cannot be compared.

## When it is harmless
A reduction that averages, a ratio that is taken first and reduced then, and a division by the number of
processes.

## References
- torch.distributed.all_reduce
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.ranks.half_reduced import half_reduced
from stethoscope.signals.sources import Sources

RULE = Rule(code="RNK740", since="0.7", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each ratio with one side of all ranks and one of this rank."""
    for found in half_reduced(index(sources.program)):
        yield Finding(
            found.ratio.where,
            f"`{found.reduced}` is summed over all ranks and `{found.alone}` is of this rank alone",
            evidence={"reduced": found.reduced, "alone": found.alone},
        )
