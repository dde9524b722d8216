"""A schedule of the learning rate is made, and nothing ever moves it.

## What it checks
A schedule of torch or transformers that is made beside a loop which was seen whole, or by a Lightning module
that optimizes by hand: no round calls its `step`, nothing else of the repository steps anything that may be a
schedule, and no call that was not followed gets it.

## Why it matters
The learning rate stays where the schedule began: at its full height to the end, or, with a warm-up, at a
small part of it. Nothing is raised, and the loss still falls. With `automatic_optimization = False` Lightning
leaves the schedules to the module too.

## When it is harmless
A schedule that a trainer or an engine is handed is moved there. Rates that the loop writes by hand make a
schedule beside them a leftover.

## References
- torch.optim.lr_scheduler, Lightning: manual optimization
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.loop.unmoved_schedules import unmoved_schedules
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP930", since="0.9", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each schedule that stands still for good."""
    told: set[ast.AST] = set()
    for loop in loops:
        for made in unmoved_schedules(loop):
            if made.site.node in told:
                continue
            told.add(made.site.node)
            update = next(move for move in loop.moves if move.updates)
            hint = "Lightning moves no schedule of a module that optimizes by hand" if loop.hook else ""
            yield Finding(
                (made.site.where, update.event.site.where),
                f"{made.name} is made, and nothing moves it{': ' + hint if hint else ''}",
                evidence={"made": made.site.text, "update": update.event.site.text},
            )
