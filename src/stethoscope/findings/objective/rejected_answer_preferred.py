"""A loss of preferences is lower where the rejected answer scores higher.

## What it checks
Losses over a chosen and a rejected answer, known by these names: rewards of a reward model,
log-probabilities of a policy as in DPO. The loss is computed on numbers, once with the chosen answer far
ahead and once with the rejected one, through whatever margins and functions lie between.

## Why it matters
With the two changed over, training teaches what people did not want. The loss falls as it should; the
accuracy of the preferences falls with it.

## When it is harmless
Names that say the opposite of what they hold mislead the rule. Losses and distances of answers, which are
better the lower they are, are left alone, and so is what cannot be computed from numbers alone.

## References
- Rafailov et al., Direct Preference Optimization, 2023
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.objective.preferences import turned_preferences
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ510", since="0.9", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each loss that prefers what was rejected."""
    for one in turned_preferences(index(sources.program)):
        yield Finding(
            one.site.where,
            f"this loss is {one.chosen_ahead:.3g} where the chosen answer is far ahead and "
            f"{one.rejected_ahead:.3g} where the rejected one is: it prefers what was rejected",
            evidence={"chosen ahead": one.chosen_ahead, "rejected ahead": one.rejected_ahead},
            proof="the loss was computed on numbers",
        )
