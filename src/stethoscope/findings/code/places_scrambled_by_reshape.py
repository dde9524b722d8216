"""A reshape gives an axis a new place without moving what is on it.

## What it checks
The networks that the training makes are computed on small arrays whose samples and places have lengths of
their own. A `view` or `reshape` behind which an axis of that length stands elsewhere, though the elements
were not transposed: `(batch, time, features)` seen as `(batch, heads, time, features)`.

## Why it matters
`view` only counts elements. What was one place in time becomes pieces of several places, samples and
features are cut into each other, and the network learns from what is left in order. Shapes fit, and
nothing fails.

## When it is harmless
A relative shift of attention scores swaps two axes that differ by one on purpose: nothing is said of
those, nor of axes that keep their place while others are split or joined.

## References
- torch.Tensor.view and torch.Tensor.permute
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.experiments.trials import trials
from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="COD872", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report reshapes that cut across samples or places."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for trial in trials(index(sources.program), tree):
        for one in trial.scrambled:
            yield Finding(
                (one.spot.source.where(one.spot.node),),
                f"the reshape from {one.before} to {one.after} moves an axis without moving its elements",
                evidence={"before": one.before, "after": one.after},
            )
