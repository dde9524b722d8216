"""A handful of samples stand behind each step.

## What it checks
The shares of right answers in training: an accuracy of n samples moves in steps of 1/n. Whether so few stand
behind each logged step that one more right answer moves it by an eighth or more.

## Why it matters
The gradient of a handful of samples is mostly noise, and so are the mean and deviation that batch norm takes
from them. A rate that suits thirty samples at a time is too high for four.

## When it is harmless
Where gradients of many such batches are gathered before each update, where nothing is normed by the batch,
and with a rate to match. So this is only a note, which tells causes apart where something else is wrong.

## References
- Wu and He, "Group Normalization", 2018
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.signals.samples_per_step import SamplesPerStep

RULE = Rule(code="LOS330", since="0.6", severity=Severity.NOTE)

FEW = 8.0  # samples


def examine(seen: SamplesPerStep) -> Iterator[Finding]:
    """Note shares of right answers that move in large steps."""
    if seen.count <= FEW:
        yield Finding(
            seen.series.where(),
            f"{seen.series.name} moves in the steps of {seen.count:.0f} samples for each update",
            {"samples": seen.count},
        )
