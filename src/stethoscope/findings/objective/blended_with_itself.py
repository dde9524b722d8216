"""A blend takes both of its parts from the same thing.

## What it checks
Sums of two products whose shares make one, `lam * y + (1 - lam) * y`: whether what is shared is written the
same in both.

## Why it matters
The sum is the thing itself. A mixup whose inputs are mixed and whose labels are not teaches labels that do
not belong to what is shown; an average that is blended with itself never moves.

## When it is harmless
What is drawn anew each time it is called differs between the two, and is not reported.

## References
- mixup: Beyond Empirical Risk Minimization (Zhang et al., 2018)
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.objective.blends_of_itself import blends_of_itself
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ520", since="0.8", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each blend that changes nothing."""
    for blend in blends_of_itself(index(sources.program)):
        yield Finding(
            blend.site.where,
            f"`{blend.site.text}` is `{blend.blended}`, whatever `{blend.share}` is",
            evidence={"blended": blend.blended, "averages": blend.averages},
            proof="two shares of one thing that make one give the thing itself",
        )
