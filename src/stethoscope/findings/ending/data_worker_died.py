"""The run ended because a process that loads data died.

## What it checks
The last thing that the output says, no step behind it: a worker of the data loader exited unexpectedly or
was killed by a signal, other than for shared memory or by a request to stop.

## Why it matters
The training process only learns that its worker is gone. The usual reason is memory of the host: workers
are the largest processes when a dataset is held in Python objects.

## When it is harmless
A worker that ends because the whole job was asked to stop (signal Terminated) is a consequence, and
reported as such. Errors of objects that Python ignores at its end are no end.

## References
- `torch.utils.data.DataLoader`: `num_workers`, `persistent_workers`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings._cut_short_by import cut_short_by
from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.signals.abrupt_end import AbruptEnd, Manner

RULE = Rule(code="END104", since="0.2", severity=Severity.CRITICAL)


def examine(end: AbruptEnd) -> Iterator[Finding]:
    """Fire when a dead worker of the loader ended the run."""
    return cut_short_by(end, Manner.DATA_WORKER, what="a data-loading process died")
