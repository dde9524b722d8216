"""A score of how answers are ordered is given decisions.

## What it checks
Calls of scikit-learn's scores of an order (`roc_auc_score`, `average_precision_score`, `roc_curve`,
`precision_recall_curve`): whether their answers were compared with a threshold, rounded, or taken by `argmax`
before, in the same body of code.

## Why it matters
An area under a curve asks at how many thresholds positives stand above negatives. Zeros and ones know one
threshold: the area becomes the mean of sensitivity and specificity there. It is mostly too low, moves in
steps, and chooses the wrong checkpoint; no number of another paper compares with it.

## When it is harmless
Probabilities or raw answers, also rounded to some digits for what is printed. Decisions beside them, for a
score of decisions such as F1.

## References
- sklearn.metrics.roc_auc_score: `y_score` are target scores
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.evaluation.ranked_decisions import ranked_decisions
from stethoscope.program.index import index
from stethoscope.signals.sources import Sources

RULE = Rule(code="EVA810", since="0.8", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each score of an order that is given decisions."""
    for one in ranked_decisions(index(sources.program)):
        yield Finding(
            (one.asked.where, one.decided.where),
            f"{one.score} orders answers, and `{one.decided.text[:60]}` has made decisions of them",
            evidence={"score": one.score, "decided": one.decided.text},
        )
