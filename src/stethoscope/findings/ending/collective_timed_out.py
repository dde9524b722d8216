"""The run ended because the processes waited for each other in vain.

## What it checks
The last thing that the output says, no step behind it: the watchdog of NCCL, a timeout of gloo or of the
store, or a peer that closed its connection, with no error of another process beside it.

## Why it matters
One process did not come to the meeting: it died, it hangs, or it takes another path through the code. What
the others print is only that they waited.

## When it is harmless
Where another process printed why it died, that is what is reported, not this. A timeout after the end of
the training is only noted.

## References
- `torch.distributed.init_process_group(timeout=...)`, `TORCH_NCCL_TRACE_BUFFER_SIZE`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings._cut_short_by import cut_short_by
from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.signals.abrupt_end import AbruptEnd, Manner

RULE = Rule(code="END103", since="0.2", severity=Severity.CRITICAL)


def examine(end: AbruptEnd) -> Iterator[Finding]:
    """Fire when a collective that never completed ended the run."""
    return cut_short_by(end, Manner.COLLECTIVE, what="the processes waited for each other in vain")
