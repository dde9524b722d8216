"""A target counts on what follows the end of an episode.

## What it checks
Targets of the form `reward + gamma * worth_of_what_follows`: whether the function that makes them, and that
is handed the ends of episodes (unpacked from a batch, as a parameter, kept step by step), looks at these.

## Why it matters
Behind the end of an episode comes the start of another one, or nothing. A target without `(1 - done)` gives
a fall the worth of going on: the worths run away or all agree, and the policy learns not to mind.

## When it is harmless
Where episodes end only because time is up, the worth of going on is what is meant; there is no need to hand
on the ends then. A discount that comes with every step, or a mask by another name, tells of the ends.

## References
- Mnih et al., Human-level control through deep reinforcement learning, 2015
- Pardo et al., Time Limits in Reinforcement Learning, 2018
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.objective.bootstraps import endless_targets
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ360", since="0.7", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each function that is told of the ends and does not look."""
    for one in endless_targets(index(sources.program)):
        why = (
            f"counts on what follows only where `{one.ends}` says that an episode ends"
            if one.is_turned
            else f"goes on past the end of an episode: nothing here looks at `{one.ends}`"
        )
        yield Finding(
            (one.source.where(one.target),),
            f"`{ast.unparse(one.target)}` {why}",
            evidence={"ends": one.ends},
        )
