"""A score is given the prediction where the truth belongs.

## What it checks
The two sides of a score of scikit-learn, jiwer or `torchmetrics.functional` that is not the same both ways
round: the coefficient of determination, precision, recall, areas under curves, percentage errors, word error
rates. What the network answered is followed through lists and conversions.

## Why it matters
`r2_score(predicted, true)` measures the error against the spread of the predictions: a network that hardly
dares to leave the mean gets a large negative number, one that exaggerates a good one. Precision and recall
change places. The checkpoint that is kept, and what is reported, follow the wrong number.

## When it is harmless
Never. Scores that are alike both ways round, such as the accuracy or the mean squared error, are not looked
at, and neither are sides that are given by name.

## References
- scikit-learn, `sklearn.metrics.r2_score(y_true, y_pred)`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.evaluation.swapped_arguments import swapped_arguments
from stethoscope.program.index import index
from stethoscope.signals.sources import Sources

RULE = Rule(code="EVA820", since="0.8", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each score whose sides have changed places."""
    for found in swapped_arguments(index(sources.program)):
        yield Finding(
            found.site.where,
            f"{found.score} is given the prediction, {found.answer}, in the place of the truth",
            evidence={"score": found.score},
        )
