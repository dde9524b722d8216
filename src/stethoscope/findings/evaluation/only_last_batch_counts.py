"""A score is counted over batches and holds the last one only.

## What it checks
Loops of evaluations over data: counts and lists that are emptied at the start of every round, or that are
begun with zero and then given a new value instead of being added to, where no round reads them and what
follows the loop does.

## Why it matters
The score is that of one batch, mostly the smallest: it is noisy, jumps in coarse steps, and says nothing of
the other samples. The best checkpoint is chosen by it all the same.

## When it is harmless
Values of the last round that are called so; loops over epochs, folds and seeds, whose last round may be
meant.

## References
- none
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.evaluation.last_round_only import last_rounds_only
from stethoscope.program.index import index
from stethoscope.signals.sources import Sources

RULE = Rule(code="EVA360", since="0.7", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each evaluation of which only the last batch is left."""
    for one in last_rounds_only(index(sources.program)):
        how = "begins anew with every batch" if one.begins_anew else "is replaced by every batch"
        yield Finding(
            (one.source.where(one.forgets), one.source.where(one.read)),
            f"`{one.name}` {how}: what is read behind the loop is the last one's",
            evidence={"name": one.name},
        )
