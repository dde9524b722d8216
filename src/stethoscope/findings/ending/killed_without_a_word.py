"""The process was killed, and nothing says by whom.

## What it checks
The last thing that the output says, no step behind it: Killed, SIGKILL, or exit status 137 or -9, without a
word of memory, of a scheduler or of an error.

## Why it matters
Signal 9 cannot be caught, so the program could not say anything. The kernel sends it when memory of the
host is short, a scheduler when a job did not heed its first signal, and a person by hand.

## When it is harmless
A run that finished before its launcher was killed is only noted.

## References
- `dmesg | grep -i oom`, `sacct -j JOB -o State,ExitCode,MaxRSS`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings._cut_short_by import cut_short_by
from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.signals.abrupt_end import AbruptEnd, Manner

RULE = Rule(code="END111", since="0.2", severity=Severity.WARNING)


def examine(end: AbruptEnd) -> Iterator[Finding]:
    """Fire when the process was killed and nothing says why."""
    return cut_short_by(end, Manner.KILLED, what="the process was killed and nothing says by whom", proof="")
