"""An optimizer is made anew in every epoch of a training that goes on.

## What it checks
Each optimizer of Adam's kind that is made inside the loop over epochs, on every round of it,
for networks that are not made anew there.

## Why it matters
Its moments start at zero each time, and so does the count that corrects them: the first steps of every epoch
are as large as the rate allows, whatever the gradients are. A scheduler that was made for the first one moves
nothing any more.

## When it is harmless
An optimizer for a copy of the network, for a fold or a task, for a phase (`if epoch == 10`), and one that
gets the state of the last one back. Loops over rounds of another kind, such as those of federated clients.

## References
- torch.optim.Adam
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.loop.parameter_owners import Holder, holder_of, unwrapped
from stethoscope.program.loop.training_loop import TrainingLoop, level
from stethoscope.program.walk.ancestry import ancestry
from stethoscope.program.walk.events import Assignment, Call, Event, Scope
from stethoscope.program.walk.values import Applied, Instance, Outside
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP801", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

MOMENTS = frozenset(
    {"Adam", "AdamW", "NAdam", "RAdam", "Adamax", "RMSprop", "AdaBelief", "Lion", "Adafactor"}
)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each optimizer with moments that is made again in every epoch."""
    examined = False
    told: set[int] = set()
    for loop in loops:
        for move in loop.moves if loop.hook is None else ():
            held = holder_of(loop.trace, move.subject) if move.updates else ()
            examined = examined or bool(held)
            around = _made_in(loop, held[0], move.event) if len(held) == 1 else None
            if around is None or id(held[0].call.site.node) in told or _begins_anew(loop, held[0], around):
                continue
            told.add(id(held[0].call.site.node))
            yield Finding(
                where=(held[0].call.site.where, move.event.site.where),
                message=f"{held[0].call.name} is made anew in every epoch: its moments start at zero",
                evidence={"optimizer": held[0].call.site.text},
                proof="the networks are those of the epoch before, and no state is handed on",
            )
    if not examined:
        raise InsufficientData("no optimizer that is made in the source could be followed")


def _made_in(loop: TrainingLoop, holder: Holder, step: Event) -> Scope | None:
    """The loop over epochs in every round of which an optimizer is made and used, with no loop around it."""
    if _kind(holder.call) not in MOMENTS:
        return None
    for scope in holder.call.scopes():
        if scope.kind == "if":
            return None  # a phase begins
        if scope.kind == "loop":
            is_outermost = not any(one.kind == "loop" for one in scope.outwards() if one is not scope)
            is_shared = is_outermost and any(one is scope for one in step.scopes())
            is_counted = isinstance(scope.node, ast.For) and level(loop.run, scope) == "epoch"
            return scope if is_shared and is_counted else None
    return None


def _kind(call: Call) -> str:
    return call.callee.name.rpartition(".")[2] if isinstance(call.callee, Outside) else call.name


def _begins_anew(loop: TrainingLoop, holder: Holder, around: Scope) -> bool:
    """Whether a round has networks or states of its own, or what the optimizer has is not known."""
    owners = [one for owner in holder.owners for one in unwrapped(owner)]
    if not owners or not all(isinstance(one, Instance | Applied) for one in owners):
        return True
    sources = {id(one) for owner in owners for one in (owner, *ancestry(loop.run, owner))}
    inside = [event for event in loop.trace.events if any(one is around for one in event.scopes())]
    return any(
        any(id(one) in sources for one in unwrapped(event.value))
        if isinstance(event, Assignment)
        else isinstance(event, Call) and ("reset" in event.name or event.name == "load_state_dict")
        for event in inside
    )
