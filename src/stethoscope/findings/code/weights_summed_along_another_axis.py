"""Attention weights are summed along another axis than the softmax made them sum to one along.

## What it checks
The networks that the training makes are computed on small arrays. What a softmax gave is followed to the
product that uses it as weights: they have to sum to one along the axis that is summed there. The same
holds for weights that are masked behind the softmax, which sum to less than one.

## Why it matters
The weights of a query do not sum to one; how strongly it reads depends on what other queries do. Under a
mask behind the softmax, what is hidden still takes its share, and early places read next to nothing.

## When it is harmless
Capsules and slots share out each input among their outputs on purpose, and divide by the sum behind it:
weights that are changed between the softmax and the product are not judged, except by zeros put into
them.

## References
- Vaswani et al., Attention Is All You Need, 2017, 3.2.1
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.experiments.trials import trials
from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="COD873", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report softmax weights used along another axis."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for trial in trials(index(sources.program), tree):
        for one in trial.turned:
            how = (
                "its weights are masked behind it and no longer sum to one"
                if one.masked
                else "the product behind it sums its weights along another axis"
            )
            yield Finding(
                (one.spot.source.where(one.spot.node),),
                f"softmax in {trial.cls.name}: {how}",
                evidence={"masked": one.masked},
            )
