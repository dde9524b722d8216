"""A resumed run replays its schedule, or begins it anew, instead of restoring it.

## What it checks
Resumes that restore the optimizer: whether the schedule that training steps is restored with it. Two things
are reported: a loop before training that steps the schedule as often as it was stepped before, and a
schedule that is made afresh and never told where the run stands.

## Why it matters
A restored optimizer already has the decayed rate. Most schedules multiply the rate they find, so that a
replay decays it a second time. A schedule that begins anew goes through its warm-up and peak again on a
trained network.

## When it is harmless
A schedule that computes the rate from the step alone (LambdaLR, OneCycleLR) gives the right rate after a
replay, and so does any schedule over an optimizer that was not restored; this is only noted. A schedule
that is told the epoch at each step, is made with `last_epoch`, or follows the metric needs no state.

## References
- torch.optim.lr_scheduler.LRScheduler.load_state_dict
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.checkpointing import (
    FROM_THE_STEP,
    Resumption,
    assigned_names,
    keeps_own_count,
    made_by,
    replays,
    schedules,
)
from stethoscope.program.evaluation import Walk
from stethoscope.program.events import Call
from stethoscope.program.moves import Move, receiver_role
from stethoscope.program.roles import Role
from stethoscope.signals.resumes import Resumes

RULE = Rule(code="RES103", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(resumes: Resumes) -> Iterator[Finding]:
    """Report schedules that are replayed or begun anew at a resume."""
    seen: set[object] = set()
    for walk in resumes.walks:
        for move, loop in replays(walk):
            if move.event.site.node in seen:
                continue
            seen.add(move.event.site.node)
            is_twice = _is_after_optimizer(walk, move) and made_by(move.subject) not in FROM_THE_STEP
            why = "over a rate that was already restored" if is_twice else "instead of being restored"
            yield Finding(
                (move.event.site.where, loop.source.where(loop.node)),
                f"the schedule is replayed step by step {why}",
                evidence={"step": move.event.site.text, "schedule": made_by(move.subject)},
                severity=None if is_twice else Severity.NOTE,
                strength=1.0 if is_twice else 0.0,
            )
    for resumption in resumes.resumptions:
        begun = _begun_anew(resumption)
        if begun is not None and begun.event.site.node not in seen:
            seen.add(begun.event.site.node)
            yield Finding(
                (resumption.weights.site.where, begun.event.site.where),
                f"the resume restores the optimizer and not the schedule{_named(begun)}, which begins anew",
                evidence={"restored": resumption.weights.site.text, "schedule": made_by(begun.subject)},
            )


def _named(schedule: Move) -> str:
    name = made_by(schedule.subject)
    return f" ({name})" if name else ""


def _is_after_optimizer(walk: Walk, move: Move) -> bool:
    """Whether the optimizer got its state back before the schedule was replayed."""
    before = walk.trace.events[: walk.place(move.event)]
    loads = [event for event in before if isinstance(event, Call) and event.name == "load_state_dict"]
    return any(receiver_role(walk.trace.run, call) is Role.OPTIMIZER for call in loads)


def _begun_anew(resumption: Resumption) -> Move | None:
    """The schedule of a resumed training that nothing restores."""
    stepped = [move for move in schedules(resumption.walk) if not keeps_own_count(move)]
    if not stepped or resumption.counter is None or resumption.restores(Role.SCHEDULER):
        return None
    if not resumption.restores(Role.OPTIMIZER) or any(True for _ in replays(resumption.walk)):
        return None
    set_by_hand = assigned_names(resumption.walk) & {"last_epoch", "_step_count", "last_step"}
    return None if set_by_hand else stepped[0]
