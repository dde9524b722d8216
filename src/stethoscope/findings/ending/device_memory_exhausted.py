"""The run ended because the accelerator had no memory left.

## What it checks
The last thing that the output of the run says, no step behind it: an allocation on a GPU (or another
accelerator) failed, in the words of PyTorch, CUDA, ROCm, MPS or XLA.

## Why it matters
The step that did not fit will not fit the next time either. Where it came at the first step, batch and
model are too large; where it came after hours, something grows: longer sequences, larger crops, tensors
kept from earlier steps, a validation with gradients.

## When it is harmless
A trainer that catches the error and goes on, skipping the batch or halving it, has steps behind the
message, or says that it goes on. An error after the end of the training cost no training: it is only noted.

## References
- `torch.cuda.OutOfMemoryError`, `torch.cuda.memory_summary`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings._cut_short_by import cut_short_by
from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.signals.abrupt_end import AbruptEnd, Manner

RULE = Rule(code="END101", since="0.2", severity=Severity.CRITICAL)


def examine(end: AbruptEnd) -> Iterator[Finding]:
    """Fire when a failed allocation on a device ended the run."""
    return cut_short_by(end, Manner.DEVICE_MEMORY, what="the run ran out of device memory")
