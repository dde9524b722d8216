"""The run ended because a file could not be written.

## What it checks
The last thing that the output says, no step behind it: no space left on the device, a quota that is
exceeded, or a checkpoint whose writing failed.

## Why it matters
The file that was being written is damaged, and it is usually the newest checkpoint. What came before it is
whole.

## When it is harmless
A write that failed and was tried again has steps behind it. A full disk after the end of the training is
only noted, though the last checkpoint may be damaged.

## References
- `errno.ENOSPC`, `errno.EDQUOT`; `torch.save`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings._cut_short_by import cut_short_by
from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.signals.abrupt_end import AbruptEnd, Manner

RULE = Rule(code="END106", since="0.2", severity=Severity.CRITICAL)


def examine(end: AbruptEnd) -> Iterator[Finding]:
    """Fire when a write that failed ended the run."""
    return cut_short_by(end, Manner.DISK, what="a file could not be written")
