"""The weight decay that the settings ask for goes to an optimizer that is not in use.

## What it checks
The optimizer that the source makes under these settings is followed. The rule fires where it gets all weights
at once and no `weight_decay`, where the settings ask for one, and where everything that takes the setting is
the making of an optimizer of another kind.

## Why it matters
One branch of the choice between optimizers was written with all arguments and another without. The weights
are not regularised although the settings say so, and the run overfits like one with a decay of 0.

## When it is harmless
A decay of 0 asks for nothing. Groups of parameters may have decays of their own, a decay may be a term of the
loss, and AdamW decays unless it is told not to: none of these is reported.

## References
- setting-never-used is a setting that no branch takes.
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.signals.left_out_decay import LeftOutDecay

RULE = Rule(code="SET182", since="0.3", severity=Severity.WARNING, subject=Subject.SETTINGS)

NAMED = 2


def examine(decay: LeftOutDecay) -> Iterator[Finding]:
    """Fire where the optimizer in use is not told of the decay."""
    if decay.asked is None:
        return
    number = decay.asked.amount.number
    taken = ", ".join(str(place) for place in decay.taken_at[:NAMED])
    yield Finding(
        (decay.asked.setting.where, *decay.made_at, *decay.taken_at[:NAMED]),
        f"{decay.asked.name} is {number:g}, and {decay.optimizer} is made without it: only another optimizer "
        f"takes it ({taken})",
        evidence={"decay": number or 0.0, "optimizer": decay.optimizer},
        proof="the optimizer that is made under these settings has no weight_decay, and its default is 0",
    )
