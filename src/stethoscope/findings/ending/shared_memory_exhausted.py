"""The run ended because shared memory was full.

## What it checks
The last thing that the output says, no step behind it: a bus error in a loader worker, insufficient shared
memory, or no space left in /dev/shm.

## Why it matters
Loader workers hand batches over through /dev/shm. A container gives it 64 MB unless told otherwise, which a
few batches of images fill; memory of the host may be free all the same.

## When it is harmless
A bus error that training went on after is not reported.

## References
- `docker run --shm-size`, `--ipc=host`; `torch.multiprocessing.set_sharing_strategy`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings._cut_short_by import cut_short_by
from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.signals.abrupt_end import AbruptEnd, Manner

RULE = Rule(code="END105", since="0.2", severity=Severity.CRITICAL)


def examine(end: AbruptEnd) -> Iterator[Finding]:
    """Fire when full shared memory ended the run."""
    return cut_short_by(end, Manner.SHARED_MEMORY, what="shared memory was full")
