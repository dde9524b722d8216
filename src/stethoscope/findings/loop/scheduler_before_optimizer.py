"""The schedule moves on before the first update, so its first value is never used.

## What it checks
For each `scheduler.step()` of a torch scheduler in a training loop or in the loop over epochs around it:
whether a round reaches it before the optimizer's step.

## Why it matters
A scheduler sets the first rate when it is made, and each `step()` goes on to the next. Stepped first, the
whole schedule is one round early: with warm-up from zero that costs a step, with a decay per epoch the
first epoch runs at the decayed rate. torch warns once and goes on.

## When it is harmless
`scheduler.step(epoch)` sets a place and does not count. A step that the first round leaves out (`if epoch >
0`). A schedule that counts batches where an update takes several. Schedulers of one's own that set the rate
for the round about to come, and ReduceLROnPlateau, which answers to a metric.

## References
- torch.optim: How to adjust learning rate
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.statements import moved
from stethoscope.program.loop.meeting_places import places_of
from stethoscope.program.loop.moves import Move
from stethoscope.program.loop.schedule_steps import ScheduleStep, asked_within, schedule_steps
from stethoscope.program.loop.schedules import is_known_scheduler
from stethoscope.program.loop.training_loop import TrainingLoop, level
from stethoscope.program.walk.events import Call
from stethoscope.run import Fix, Level, Splice
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP107", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each schedule that moves before the weights do."""
    for loop in loops:
        update = next((move for move in loop.moves if move.updates), None)
        told: set[int] = set()
        for step in schedule_steps(loop):
            call = step.move.event
            if update is None or not step.is_first or id(call.site.node) in told:
                continue
            if _counts_batches_of_updates(step, update):
                continue
            if not isinstance(call, Call) or call.args or call.keywords:
                continue
            if not is_known_scheduler(loop.run, step.move.subject):
                continue
            told.add(id(call.site.node))
            yield _finding(loop, step, update)


def _counts_batches_of_updates(step: ScheduleStep, update: Move) -> bool:
    """Whether the schedule moves with every batch, and the weights with some: no first value is missed."""
    return bool(asked_within(update.event, step.round) - asked_within(step.move.event, step.round))


def _finding(loop: TrainingLoop, step: ScheduleStep, update: Move) -> Finding:
    site = step.move.event.site
    splices = _fix(loop, step, update)
    return Finding(
        where=places_of(loop.trace, step.move.event, update.event),
        message=f"{site.text} comes before {update.event.site.text} in each {_round(loop, step)}: the first "
        "value of the schedule is never used",
        evidence={"step": update.event.site.text, "line of step": update.event.line},
        proof="the first round moves the schedule before it updates the weights",
        fix=Fix("move the schedule after the update", Level.SAFE, splices) if splices else None,
    )


def _round(loop: TrainingLoop, step: ScheduleStep) -> str:
    return level(loop.run, step.round) or "round"


def _fix(loop: TrainingLoop, step: ScheduleStep, update: Move) -> tuple[Splice, ...]:
    """Behind the update, or behind the call or loop of the same block that holds it."""
    site = step.move.event.site
    candidates = [update.event.site.node]
    candidates += [scope.node for scope in update.event.scopes() if scope.kind == "loop"]
    for node in candidates:
        if update.event.site.source is site.source:
            splices = moved(site.source, site.node, node, after=True)
            if splices:
                return splices
    return ()
