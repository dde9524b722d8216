"""Accelerate prepares the optimizer and the data, and never sees the network.

## What it checks
Programs that make an `Accelerator`: whether the network whose parameters an optimizer gets is handed to any
`prepare` call, where the optimizer is.

## Why it matters
`prepare` wraps the network for several processes. Without it each process trains its own copy on its share of
the data and nothing is exchanged; mixed precision does not act either. The log of the first process looks
like a run with a smaller batch.

## When it is harmless
On one process only the precision differs. A network that is wrapped by hand, or prepared in another function
under the same name, is not reported.

## References
- accelerate.Accelerator.prepare
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.ranks.unprepared import unprepared
from stethoscope.signals.sources import Sources

RULE = Rule(code="RNK741", since="0.7", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each network that is trained and not prepared."""
    for found in unprepared(index(sources.program)):
        yield Finding(
            found.prepared.where,
            f"`{found.network}` is not among what is prepared here: the processes do not share gradients",
            evidence={"network": found.network, "mixed": sources.mention("mixed_precision")},
        )
