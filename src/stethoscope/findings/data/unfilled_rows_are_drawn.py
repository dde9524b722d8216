"""A memory that is partly empty is drawn from as a whole.

## What it checks
Classes that make empty arrays of a fixed size and fill them row by row, as replay buffers do: whether what
they hand out is drawn from the whole size, without a look at how many rows are filled.

## Why it matters
Until the memory is full most rows of a batch are zeros: states, actions and rewards that never were. The
network learns that everything is worth nothing, and unlearns it later or never.

## When it is harmless
A memory that says when it is full, for the training to wait. Where the number of filled rows is asked
anywhere in the method, nothing is said.

## References
- Mnih et al., Human-level control through deep reinforcement learning, 2015
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.unfilled_rows import unfilled_rows
from stethoscope.program.index import index
from stethoscope.signals.sources import Sources

RULE = Rule(code="DAT743", since="0.7", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each draw that may give rows that nobody has filled."""
    for found in unfilled_rows(index(sources.program)):
        yield Finding(
            found.drawn.where,
            f"rows are drawn from all of `{found.bound}`, filled or not: `{found.drawn.text}`",
            evidence={"bound": found.bound},
        )
