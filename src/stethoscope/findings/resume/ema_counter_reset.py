"""A resumed run begins its average of the weights, or the count of its updates, anew.

## What it checks
Classes that average weights and count their own updates: whether saving and loading them keeps the count.
Resumes that restore network and optimizer: whether the average that training updates is restored too.

## Why it matters
An average that warms up computes its decay from the number of updates. With the count back at zero the
decay is near zero again: the next update replaces the whole average by the raw weights. An average that is
not restored at all is a copy of the first weights it sees.

## When it is harmless
A count that is a buffer of a module is saved with it, and a count that nothing reads does not matter. An
average with a constant decay needs no count.

## References
- The average of a diffusion training restarted its warm-up at each resume.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.averages import average_updates, is_teacher, mentions_average
from stethoscope.program.checkpointing import Resumption
from stethoscope.program.lost_counts import LostCount, lost_counts
from stethoscope.program.roles import Role
from stethoscope.signals.resumes import Resumes

RULE = Rule(code="RES104", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(resumes: Resumes) -> Iterator[Finding]:
    """Report counts and averages that a resume loses."""
    for lost in lost_counts(resumes.index):
        yield Finding(
            (lost.restored.where, lost.counted.where),
            _message(lost),
            evidence={"count": lost.name, "class": lost.owner},
        )
    for resumption in resumes.resumptions:
        updates = average_updates(resumption.walk)
        if updates and _is_forgotten(resumption):
            yield Finding(
                (resumption.weights.site.where, updates[0].site.where),
                "the resume restores the network and not its average, which begins anew",
                evidence={"restored": resumption.weights.site.text, "average": updates[0].site.text},
            )


def _message(lost: LostCount) -> str:
    if isinstance(lost.restored.node, ast.FunctionDef):
        verb = "loads" if "load" in lost.restored.node.name or "set" in lost.restored.node.name else "saves"
        method = f"{lost.owner}.{lost.restored.node.name}"
        return f"{method} never {verb} self.{lost.name}, which begins at zero after a resume"
    if lost.owner:
        return f"the weights of the average come back and {lost.owner}.{lost.name} does not: it begins anew"
    return f"the weights of the average come back and {lost.name}, which its decay is made of, begins at zero"


def _is_forgotten(resumption: Resumption) -> bool:
    if resumption.counter is None or not resumption.restores(Role.OPTIMIZER):
        return False  # less than a full resume: that the optimizer is lost says more
    return not (
        resumption.restores(Role.AVERAGE) or is_teacher(resumption.walk) or mentions_average(resumption.loads)
    )
