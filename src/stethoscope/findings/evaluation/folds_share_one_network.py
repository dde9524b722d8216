"""The folds of a cross-validation train one network after another's work.

## What it checks
Loops over the folds of a splitter (`KFold(...).split(rows)`) that go backward: whether the network that they
train was made before the loop, and nothing in a round makes it anew or takes its first weights back.

## Why it matters
From the second fold on the network has learned from what is held out: those rows were trained on in the
fold before. Scores rise from fold to fold, and their mean promises what no new data will give.

## When it is harmless
Rounds that make their network, copy it, read its first state back or set its layers back. What only fits a
model of scikit-learn begins anew by itself.

## References
- scikit-learn, "Cross-validation: evaluating estimator performance"
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.evaluation.shared_by_folds import shared_by_folds
from stethoscope.program.index import index
from stethoscope.signals.sources import Sources

RULE = Rule(code="EVA800", since="0.8", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each network that goes from fold to fold."""
    for one in shared_by_folds(index(sources.program)):
        yield Finding(
            (one.loop.where, one.made.where),
            f"`{one.name}` is made before the folds, and each goes on with what the others have taught it",
            evidence={"network": one.name, "made": one.made.text},
        )
