"""The run was ended from outside: out of time, preempted or cancelled.

## What it checks
The last thing that the output says, no step behind it: the scheduler ended the job for its time limit, for
another job or for a failed node, somebody cancelled it, or it was sent SIGTERM.

## Why it matters
Nothing is wrong with the training: it was not allowed to end. What has been done since the last checkpoint
is lost, and how the run goes on depends on what its resume restores.

## When it is harmless
A run that finished before it was told to stop is only noted. One that somebody stopped at the keyboard is
not reported at all.

## References
- SLURM: `--time`, `--signal=B:USR1@120`, `--requeue`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings._cut_short_by import cut_short_by
from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.signals.abrupt_end import AbruptEnd, Manner

RULE = Rule(code="END107", since="0.2", severity=Severity.WARNING)


def examine(end: AbruptEnd) -> Iterator[Finding]:
    """Fire when a scheduler or a request to stop ended the run."""
    return cut_short_by(end, Manner.SCHEDULER, what="the run was ended from outside")
