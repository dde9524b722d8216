"""The run ended because a label or an index lies outside of what the model has.

## What it checks
The last thing that the output says, no step behind it: an assertion on the GPU about the bounds of a class
or of an embedding, or the same on the CPU as an IndexError.

## Why it matters
A label of -1 or of the number of classes, a token beyond the vocabulary, a position beyond the context: the
data and the model disagree. On a GPU everything after the assertion fails as well, so later errors say
nothing.

## When it is harmless
An index error that training went on after is not reported; one in a list of the program's own is an
exception like any other.

## References
- `CUDA_LAUNCH_BLOCKING=1`, or one batch on the CPU, names the operation
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings._cut_short_by import cut_short_by
from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.signals.abrupt_end import AbruptEnd, Manner

RULE = Rule(code="END109", since="0.2", severity=Severity.CRITICAL)


def examine(end: AbruptEnd) -> Iterator[Finding]:
    """Fire when an index beyond its bounds ended the run."""
    return cut_short_by(end, Manner.INDEX, what="an index was out of range")
