"""What is kept or learned from as the next state is the state itself.

## What it checks
Batches that are taken apart into states and next states: whether both are made of the same. Calls that are
handed a state and what follows it: whether both are one and the same. Memories that keep both: whether
anything ever reads the second.

## Why it matters
The target of a value is the reward and the worth of what follows. With the state in its place, worths only
chase themselves: they grow to reward over one minus discount everywhere, and nothing is learned of what an
action leads to.

## When it is harmless
Where a state cannot change there is nothing to learn of it either.

## References
- Sutton and Barto, Reinforcement Learning, 6.1
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.objective.unmoved_states import unmoved_states
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ544", since="0.7", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each next state that is no other than the state."""
    for one in unmoved_states(index(sources.program)):
        why = (
            f"{one.name} is kept and never read, beside {one.given}: what follows a state is not learned from"
            if one.is_unread
            else f"{one.name} is made of the same as {one.given}: the next state is the state itself"
        )
        yield Finding(
            (one.source.where(one.node),),
            why,
            evidence={"name": one.name, "given": one.given},
        )
