"""A schedule moves the rate of an optimizer that makes no step any more.

## What it checks
Each scheduler whose `step()` is met, and the optimizer it was made for, against the optimizers that update
weights in the same loop. Reported is one whose optimizer makes no step after the scheduler was made, while
others do.

## Why it matters
A scheduler writes into the optimizer that it was given. Where another one was made since, or the wrong one
was handed over, the rate that training uses stays what it was: no warm-up, no decay. What `get_last_lr()`
prints is the rate of the other one.

## When it is harmless
Two optimizers that are both used. An optimizer of a later phase. Where one of the optimizers that make steps
could not be followed to where it was made, nothing is said.

## References
- torch.optim.lr_scheduler
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.parameter_owners import Holder, holder_of
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.events import Event, Scope
from stethoscope.program.walk.values import Applied, Value
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP800", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each schedule that moves while the optimizer it was made for rests."""
    told: set[int] = set()
    examined = False
    for loop in loops:
        for move in _moves(loop):
            made = _made(loop, move) if move.kind is Kind.SCHEDULER_STEP else None
            stepped = _stepped_beside(loop, move.event) if made is not None else None
            if made is None or stepped is None:
                continue
            examined = True
            held = holder_of(loop.trace, _optimizer(made))
            if not held or id(made.site.node) in told or _share(stepped, held) or _goes_on(loop, made, held):
                continue
            told.add(id(made.site.node))
            yield _finding(made, held[0], stepped[0])
    if not examined:
        raise InsufficientData("no scheduler could be followed to the optimizer it was made for")


def _finding(made: Applied, held: Holder, used: Holder) -> Finding:
    return Finding(
        where=(made.site.where, held.call.site.where, used.call.site.where),
        message=f"the schedule moves the rate of the {held.call.name} of line {held.call.line}, "
        f"and the steps are made by that of line {used.call.line}",
        evidence={"schedule": made.site.text, "line of optimizer": used.call.line},
        proof="no step of the optimizer that the schedule was made for follows",
    )


def _moves(loop: TrainingLoop) -> tuple[Move, ...]:
    return (*loop.before, *loop.moves, *loop.after)


def _made(loop: TrainingLoop, move: Move) -> Applied | None:
    """The call that made a scheduler, where it can only be one."""
    value = quietly(loop.run, move.subject) if move.subject is not None else None
    is_made = isinstance(value, Applied) and value.callee != "()" and _optimizer(value) is not None
    return value if isinstance(value, Applied) and is_made else None


def _optimizer(made: Applied) -> Value | None:
    return made.keywords.get("optimizer", made.args[0] if made.args else None)


def _stepped_beside(loop: TrainingLoop, event: Event) -> tuple[Holder, ...] | None:
    """The optimizers that make steps in the outermost loop around an event; None where one is not known."""
    around = [scope for scope in event.scopes() if scope.kind == "loop"]
    inside = [move for move in _moves(loop) if move.updates and around and _is_in(move.event, around[-1])]
    held = [holder_of(loop.trace, move.subject) for move in inside]
    return tuple(one for each in held for one in each) if held and all(held) else None


def _is_in(event: Event, scope: Scope) -> bool:
    return any(one is scope for one in event.scopes())


def _goes_on(loop: TrainingLoop, made: Applied, held: tuple[Holder, ...]) -> bool:
    """Whether an optimizer makes a step after a scheduler was made for it, or one that may be it does."""
    events = loop.trace.events
    place = next((at for at, one in enumerate(events) if one.site.node is made.site.node), 0)
    later = {id(event) for event in events[place:]}
    for move in _moves(loop):
        if move.updates and id(move.event) in later:
            stepped = holder_of(loop.trace, move.subject)
            if not stepped or _share(stepped, held):
                return True
    return False


def _share(some: tuple[Holder, ...], others: tuple[Holder, ...]) -> bool:
    """Whether an optimizer is among both: it makes steps in the very loop in which the schedule moves."""
    return any(one is other for one in some for other in others)
