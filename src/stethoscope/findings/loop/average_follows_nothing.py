"""The update of an average of weights reaches no weight of it.

## What it checks
Loops that draw the weights of one network after those of another (`mean.mul_(decay).add_(weight, alpha=1 -
decay)`). They are reported where the side that is written to is a copy made for the loop, where both sides
are the same network, and where weights are looked up under the prefix of a wrapper (`f"module.{name}"`),
names that are missing are passed over, and nothing in a program that trains wraps a network.

## Why it matters
The average stays at the weights that the network began with. The training loss falls, and what is validated
and kept has learnt nothing.

## When it is harmless
A copy that is returned or kept. A prefix that DistributedDataParallel, `torch.compile` or a class of the
program puts before the names.

## References
- torch.optim.swa_utils.AveragedModel
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.signals.idle_averages import IdleAverages

RULE = Rule(code="LOP173", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(averages: IdleAverages) -> Iterator[Finding]:
    """Report each loop that moves no average."""
    for one in averages:
        yield Finding(
            where=one.source.where(one.node),
            message=f"this update of an average moves none of its weights: {one.why}",
            evidence={"why": one.why},
            proof="no statement of the loop writes to a weight that is kept",
        )
