"""The run ended because the accelerator reported a fault.

## What it checks
The last thing that the output says, no step behind it: an uncorrectable ECC error, an illegal memory
access, a failed launch, a device that fell off the bus, or an assertion on the device that is not about
bounds.

## Why it matters
Errors of memory and of the bus are the machine's: the same job on another node runs. An illegal access or a
failed assertion may as well be a bug of a kernel.

## When it is harmless
A fault that training went on after is not reported.

## References
- NVIDIA: Xid errors; `nvidia-smi -q -d ECC`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings._cut_short_by import cut_short_by
from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.signals.abrupt_end import AbruptEnd, Manner

RULE = Rule(code="END110", since="0.2", severity=Severity.CRITICAL)


def examine(end: AbruptEnd) -> Iterator[Finding]:
    """Fire when a fault of the device ended the run."""
    return cut_short_by(end, Manner.DEVICE, what="the device failed")
