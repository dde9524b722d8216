"""Schedule or average move on at steps that the loss scaler skips.

## What it checks
In loops that step through a loss scaler: whether the schedule, or the average of the weights, moves with
every batch, whatever became of the update. It is set against the updates that the scaler left out by the
log.

## Why it matters
`scaler.step(optimizer)` makes no update when a gradient is not finite, and nothing says so. A schedule that
moves all the same spends its warm-up, and some of its decay, on steps that never were; an average takes in
the same weights again and again. A scaler that begins far too high may skip the whole warm-up.

## When it is harmless
Most loops in the world are written like this, and a handful of skipped steps in thousands changes nothing:
it is only noted until the log shows that the skipped steps are a share of the run, or of its warm-up, that
matters. A schedule that moves once an epoch does not notice. Where the schedule asks first whether the
scale fell, nothing is said.

## References
- torch: "Detected call of lr_scheduler.step() before optimizer.step()"
- accelerate: AcceleratedScheduler steps only where the optimizer did
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.loop.loop_order import is_switched_off, questions
from stethoscope.program.loop.meeting_places import places_of
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.precision.loop_precision import LoopPrecision
from stethoscope.signals.loop_precisions import LoopPrecisions
from stethoscope.signals.lost_updates import LostUpdates
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="LOP130", since="0.3", severity=Severity.WARNING, subject=Subject.SOURCE)

OF_RUN = 0.05  # of all steps: a schedule or an average that is ahead by this much shows
OF_WARM_UP = 0.5  # a warm-up of which half never was is another warm-up
FEWEST = 8  # updates; a scaler that starts at 65536 leaves out fewer until it has found its level

# Conditions that ask whether there is a schedule or an average, or how far the run is: not about the update.
_UNRELATED = re.compile(
    r"[\w.]+ is (?:not )?None|(?:[\w.]*\.)?(?:use_?)?(?:\w*ema\w*|\w*average\w*|\w*sched\w*|\w*lr\w*)"
    r"|[\w.]*(?:step|iter|epoch|update)\w*\s*(?:[<>]=?|==|!=|%).*"
)
_STATE = {Kind.SCHEDULER_STEP: "the schedule moves", Kind.AVERAGE_UPDATE: "the average is updated"}


def examine(loops: LoopPrecisions, lost: LostUpdates | None, plan: TrainingPlan | None) -> Iterator[Finding]:
    """Report what moves with every batch beside a scaler, by how many updates were skipped."""
    for precision in loops:
        told: set[Kind] = set()
        for update, state in _regardless(precision):
            if state.kind not in told:
                told.add(state.kind)
                yield _finding(precision.loop, update, state, lost, plan)


def _regardless(precision: LoopPrecision) -> Iterator[tuple[Move, Move]]:
    loop = precision.loop
    if precision.scalers and all(is_switched_off(scaler) for scaler in precision.scalers):
        return
    updates = [move for move in loop.of(Kind.SCALER_STEP) if not move.by_engine]
    for state in loop.of(*_STATE):
        asked = questions(loop, state.event)
        for update in updates:
            attempted = questions(loop, update.event)
            further = {question for question, _ in asked - attempted}
            is_free = attempted <= asked and all(map(_UNRELATED.fullmatch, further))
            if is_free and _same_round(update, state):
                yield update, state


def _same_round(update: Move, state: Move) -> bool:
    """Whether both are met in the same rounds: neither sits in a further loop of its own."""
    around = [[scope for scope in move.event.scopes() if scope.kind == "loop"] for move in (update, state)]
    return around[0] == around[1]


def _finding(
    loop: TrainingLoop, update: Move, state: Move, lost: LostUpdates | None, plan: TrainingPlan | None
) -> Finding:
    said = f"{_STATE[state.kind]} with every batch, also where {update.event.site.text} makes no update"
    places = places_of(loop.trace, state.event, update.event)
    if lost is None:
        return Finding(places, said, strength=0.0, severity=Severity.NOTE)
    share, of = _share(lost, state, plan)
    evidence = {"skipped": lost.count, "of": lost.steps, "share": share}
    if lost.count < FEWEST or share < (OF_RUN if of == "the run" else OF_WARM_UP):
        message = f"{said}; {lost.said}, which is no matter"
        return Finding(places, message, evidence, strength=0.0, severity=Severity.NOTE)
    message = f"{said}; {lost.said}, {min(share, 1.0):.0%} of {of}"
    return Finding((*places, lost.where), message, evidence, onset=lost.first)


def _share(lost: LostUpdates, state: Move, plan: TrainingPlan | None) -> tuple[float, str]:
    """The share of the warm-up that was skipped where there is one, else that of the run."""
    of_run = lost.count / max(lost.steps, 1)
    warm_up = plan["warm-up"].only("step") or plan["warm-up"].only("") if plan is not None else None
    length = warm_up.amount.number if warm_up is not None else None
    if of_run >= OF_RUN or state.kind is not Kind.SCHEDULER_STEP or not length or length < FEWEST:
        return of_run, "the run"
    begun = lost.before(int(length))
    return begun / length, "the warm-up"
