"""A learned weight of a loss has nothing to hold it.

## What it checks
Parameters that weigh a loss so that it falls as they grow (`exp(-s) * loss`, `loss / sigma ** 2`): whether
they are in anything else that is minimised, such as the `+ s` or `+ log(sigma)` that belongs to them, and
whether that has a minus instead.

## Why it matters
The optimizer gets a lower loss for free by making the weight small. The total falls towards zero, steadily
and far beyond what the tasks allow, and the tasks themselves stop learning as their weights vanish.

## When it is harmless
Where the parameter is in a sum, a penalty, a softmax or any call that may hold it, nothing is said. Learned
temperatures weigh outputs and not losses.

## References
- Kendall, Gal and Cipolla, Multi-Task Learning Using Uncertainty to Weigh Losses, 2018, equation 7
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.objective.free_weights import free_weights
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ340", since="0.5", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each weight that can be lowered for nothing."""
    for weight in free_weights(index(sources.program)):
        why = (
            f"the term that should hold `{weight.name}` has a minus in `{weight.product.text}`: "
            if weight.is_paid
            else f"`{weight.name}` is learned and only weighs a loss in `{weight.product.text}`: "
        )
        yield Finding(
            (weight.product.where, weight.made.where),
            f"{why}making the weight small is the easiest way to a small loss",
            evidence={"parameter": weight.name, "product": weight.product.text},
        )
