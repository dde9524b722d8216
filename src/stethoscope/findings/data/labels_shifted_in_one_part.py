"""Labels are counted from another number in training than in evaluation.

## What it checks
Data sets that add a whole number to their labels, or take one away, under a condition that only one part of
the data meets (`if train:`, `if self.split == "train"`), and not under the other.

## Why it matters
The network learns class 0 where the evaluation calls it class 1. Training goes well and held-out accuracy is
lower than that of guessing; it looks like data from elsewhere.

## When it is harmless
Files of the two parts that really count from different numbers, which is then made the same here. Nothing is
said where both branches shift.

## References
- torch.nn.CrossEntropyLoss, whose classes begin with 0
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.shifted_for_one_part import shifted_for_one
from stethoscope.program.index import index
from stethoscope.signals.sources import Sources

RULE = Rule(code="DAT741", since="0.7", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each shift that one part of the data has for itself."""
    for found in shifted_for_one(index(sources.program)):
        yield Finding(
            found.shift.where,
            f"`{found.name}` is shifted only where `{found.condition}` holds: the rest counts otherwise",
            evidence={"condition": found.condition},
        )
