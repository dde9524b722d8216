"""The run ended because the machine, or the job's share of it, had no memory left.

## What it checks
The last thing that the output says, no step behind it: the kernel or the scheduler killed the process for
its memory (oom-kill, Out of memory: Killed process, a job's memory limit), or an allocation on the host
failed.

## Why it matters
Host memory is eaten by data: caches, loaders whose workers each hold a copy, lists that grow with every
step. It usually takes the same time to fill, so the next run ends at about the same step.

## When it is harmless
A worker that was killed and started again leaves steps behind the message. After the end of the training it
is only noted.

## References
- SLURM: `--mem`, `sacct -o MaxRSS`
- PyTorch: copy-on-read of Python objects in loader workers
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings._cut_short_by import cut_short_by
from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.signals.abrupt_end import AbruptEnd, Manner

RULE = Rule(code="END102", since="0.2", severity=Severity.CRITICAL)


def examine(end: AbruptEnd) -> Iterator[Finding]:
    """Fire when memory of the host ended the run."""
    return cut_short_by(end, Manner.HOST_MEMORY, what="the run ran out of host memory")
