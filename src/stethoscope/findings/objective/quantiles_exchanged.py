"""A quantile loss asks for the low quantile where the high one is meant, or for none at all.

## What it checks
Loss functions that speak of quantiles or of pinballs, computed on evenly spread targets: which answer costs
least for each quantile. Reported is a loss whose cheapest answers fall from one quantile to the next, or that
goes on falling without an end.

## Why it matters
An error that is taken the other way round, or a weight that belongs to the other side, exchanges 0.1 and 0.9:
the upper bound lies below the lower one, and a coverage of eighty per cent never comes about. The median is
right all the same, and so is every score that looks at it alone. A minimum in the place of the maximum has no
least answer: the loss falls for ever.

## When it is harmless
Levels that are listed from high to low, with outputs named so, are the one case that looks alike.

## References
- Koenker and Bassett, Regression Quantiles, 1978
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.signals.tried_losses import TriedLosses

RULE = Rule(code="OBJ541", since="0.7", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(losses: TriedLosses) -> Iterator[Finding]:
    """Report each quantile loss whose cheapest answers are in the wrong order."""
    for loss in losses.found:
        if loss.kind == "quantile":
            text = " ".join(loss.site.text.split())[:80]
            yield Finding(
                (loss.site.where, loss.sink.where),
                f"`{text}` is least where the answers for high quantiles lie below those for low ones",
                evidence={"loss": text},
                proof="the loss was computed for constant answers on evenly spread targets",
            )
