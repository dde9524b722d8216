"""Weights that are computed from the counts of classes make rare ones count less still.

## What it checks
The `weight` of a cross entropy and the `pos_weight` of a binary one, where the source computes them from
counts (`bincount`, `unique`, sums of labels). They are computed on counts of which one is large and one
small: whether the class that occurs most weighs most, or rare positives weigh less than the rest.

## Why it matters
Weights by counts are there to give rare classes a say. Turned round they take away what little there was:
the network says "the usual one" to everything, and an accuracy over all samples praises it.

## When it is harmless
Weights that follow the true frequencies are right where training data were balanced by hand, which is done
by sampling and seldom computed from the counts of the same data.

## References
- King and Zeng, Logistic Regression in Rare Events Data, 2001
- torch.nn.BCEWithLogitsLoss: `pos_weight` is the number of negatives over that of positives
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.signals.counted_weights import CountedWeights

RULE = Rule(code="OBJ543", since="0.7", severity=Severity.WARNING, subject=Subject.SOURCE)

WHY = {
    "classes": "weighs the class most that occurs most",
    "positives": "weighs positives less the rarer they are",
}


def examine(weights: CountedWeights) -> Iterator[Finding]:
    """Report each weight that lifts the frequent."""
    for one in weights.found:
        yield Finding(
            (one.site.where,),
            f"`{one.weight}` {WHY[one.kind]}",
            evidence={"kind": one.kind, "weight": one.weight},
            proof="the weights were computed for counts of which one is large and another small",
        )
