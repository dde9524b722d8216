"""A number that should move bit by bit is at its end after one round.

## What it checks
Numbers that each round moves and keeps within an end: `eps = max(end, eps * decay)`. Beginning, step and end
are followed to where they are written. Reported is one that should come closer with every round, and that the
pick between the two (`min` for `max`, or the other way round) sets to its end in the first; and shares of a
way, `max(1.0, epoch / rounds)`, that are whole from the first round on.

## Why it matters
An exploration that is over before anything was tried, a temperature that is cold from the start, a share of
teacher forcing that is gone: training goes on with what should be its last stage, and the settings still say
otherwise.

## When it is harmless
A number that begins at its end, or steps past it by itself, is not reported.

## References
- Mnih et al., Human-level control through deep reinforcement learning, 2015: exploration falls over a million
  frames
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.loop.annealed_numbers import spent_at_once, stands_at_its_end
from stethoscope.signals.sources import Sources

RULE = Rule(code="LOP540", since="0.7", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each number that its first round sets to its end."""
    program = index(sources.program)
    for one in (*spent_at_once(program), *stands_at_its_end(program)):
        yield Finding(
            (one.source.where(one.node),),
            f"{one.name} begins at {one.begins:g} and is {one.end:g}, its end, after one round:"
            f" `{ast.unparse(one.node.value if isinstance(one.node, ast.Assign) else one.node)}`",
            evidence={"name": one.name, "begins": one.begins, "end": one.end},
            proof="beginning, step and end are written in the source, and the first round was computed",
        )
