"""A resumed run replays its schedule, or begins it anew, instead of restoring it.

## What it checks
Resumes that restore the optimizer: whether the schedule that training steps is restored with it. Reported
are a loop that steps the schedule as often as it was stepped before, a schedule that is made afresh and never
told where the run stands or told it in epochs where it counts batches (or the other way round), and a rate
that the loop computes from a count that begins at zero.

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

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import replaced
from stethoscope.program.edits.checkpoint_edits import restored_too
from stethoscope.program.edits.statements import blocks_around, cut, is_name_chain
from stethoscope.program.evaluation.evaluations import Walk
from stethoscope.program.loop.moves import Move, receiver_role
from stethoscope.program.loop.roles import Role, role_of
from stethoscope.program.resume.checkpointing import (
    FROM_THE_STEP,
    Resumption,
    assigned_names,
    engine_loads,
    keeps_own_count,
    made_by,
    replays,
    schedules,
)
from stethoscope.program.resume.engine_schedules import unheld_schedules
from stethoscope.program.resume.remade_parts import remade_parts
from stethoscope.program.resume.resumed_rates import placed_by_epoch, placed_by_step, restarted_rates
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.values import Applied, Delayed, Site
from stethoscope.run import Fix, Level, Splice
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
            is_restored = _is_after_schedule(walk, move)
            keeps_rate = made_by(move.subject) in FROM_THE_STEP
            is_twice = is_restored or (_is_after_optimizer(walk, move) and not keeps_rate)
            why = "over a rate that was already restored" if is_twice else "instead of being restored"
            if is_restored:
                why = "though it was already restored: it goes on from twice as far"
            around = (loop.source.where(loop.node),) if loop.kind == "loop" else ()
            yield Finding(
                (move.event.site.where, *around),
                f"the schedule is replayed step by step {why}",
                evidence={"step": move.event.site.text, "schedule": made_by(move.subject)},
                severity=None if is_twice else Severity.NOTE,
                strength=1.0 if is_twice else 0.0,
                fix=_without_replay(resumes, walk, move, is_restored),
            )
    for walk in resumes.walks:
        for move in placed_by_epoch(walk):
            if isinstance(move.subject, Applied | Delayed) and move.event.site.node not in seen:
                seen.add(move.event.site.node)
                yield Finding(
                    (move.subject.site.where, move.event.site.where),
                    "the schedule steps with each batch, and the resume tells it the epoch as its place",
                    evidence={"schedule": made_by(move.subject), "step": move.event.site.text},
                    fix=_placed_by_batch(move.subject.site),
                )
        for move in placed_by_step(walk):
            if isinstance(move.subject, Applied | Delayed) and move.event.site.node not in seen:
                seen.add(move.event.site.node)
                yield Finding(
                    (move.subject.site.where, move.event.site.where),
                    "the schedule steps with each epoch, and the resume tells it the batches as its place",
                    evidence={"schedule": made_by(move.subject), "step": move.event.site.text},
                )
    for walk in resumes.walks:
        for lost in remade_parts(walk):
            if lost.role is Role.SCHEDULER and lost.made.site.node not in seen:
                seen.add(lost.made.site.node)
                yield Finding(
                    (lost.made.site.where, lost.load.site.where),
                    "the schedule gets its state back and is then made anew: it begins at its start",
                    evidence={"restored": lost.load.site.text, "made": lost.made.site.text},
                )
    for walk in resumes.walks:
        for load, move in unheld_schedules(walk):
            if move.event.site.node not in seen:
                seen.add(move.event.site.node)
                made = (move.subject.site.where,) if isinstance(move.subject, Applied) else ()
                yield Finding(
                    (move.event.site.where, *made, load.site.where),
                    "the resume restores the optimizer and not the schedule"
                    f"{_named(move)}, which begins anew",
                    evidence={"restored": load.site.text, "schedule": made_by(move.subject)},
                )
    for resumption in resumes.resumptions:
        for restarted in restarted_rates(resumption):
            if restarted.rate.node not in seen:
                seen.add(restarted.rate.node)
                yield Finding(
                    (restarted.rate.where, restarted.counted.where),
                    f"the rate is computed from {restarted.count}, which begins at zero after a resume",
                    evidence={"rate": restarted.rate.text, "count": restarted.count},
                )
        begun = _begun_anew(resumption)
        if begun is not None and begun.event.site.node not in seen:
            seen.add(begun.event.site.node)
            yield Finding(
                (resumption.weights.site.where, begun.event.site.where),
                f"the resume restores the optimizer and not the schedule{_named(begun)}, which begins anew",
                evidence={"restored": resumption.weights.site.text, "schedule": made_by(begun.subject)},
                fix=restored_too(resumption.walk, resumption.weights, {"scheduler": begun.subject}),
            )


def _named(schedule: Move) -> str:
    name = made_by(schedule.subject)
    return f" ({name})" if name else ""


def _is_after_optimizer(walk: Walk, move: Move) -> bool:
    """Whether the optimizer got its state back before the schedule was replayed."""
    return Role.OPTIMIZER in _restored_before(walk, move)


def _is_after_schedule(walk: Walk, move: Move) -> bool:
    """Whether the schedule itself got its state back, by its own load or by an engine that holds it."""
    place = walk.place(move.event)
    by_engine = any(
        call.name == "load_state" and walk.place(call) < place and _holds_schedule(walk, call)
        for call in engine_loads(walk)
    )
    return by_engine or Role.SCHEDULER in _restored_before(walk, move)


def _holds_schedule(walk: Walk, load: Call) -> bool:
    """Whether a schedule was handed to the engine: accelerate restores what it prepared."""
    before = walk.trace.events[: walk.place(load)]
    return any(
        isinstance(event, Call)
        and event.name in {"prepare", "prepare_scheduler", "register_for_checkpointing"}
        and any(role_of(walk.trace.run, value) is Role.SCHEDULER for value in event.args)
        for event in before
    )


def _restored_before(walk: Walk, move: Move) -> set[Role | None]:
    before = walk.trace.events[: walk.place(move.event)]
    loads = [event for event in before if isinstance(event, Call) and event.name == "load_state_dict"]
    return {receiver_role(walk.trace.run, call) for call in loads}


def _begun_anew(resumption: Resumption) -> Move | None:
    """The schedule of a resumed training that nothing restores."""
    stepped = [move for move in schedules(resumption.walk) if not keeps_own_count(resumption.walk, move)]
    if not stepped or resumption.counter is None or resumption.restores(Role.SCHEDULER):
        return None
    if not resumption.restores(Role.OPTIMIZER) or any(True for _ in replays(resumption.walk)):
        return None
    set_by_hand = assigned_names(resumption.walk) & {"last_epoch", "_step_count", "last_step"}
    return None if set_by_hand else stepped[0]


def _without_replay(resumes: Resumes, walk: Walk, move: Move, is_restored: bool) -> Fix | None:
    """The replay taken out, and the state of the schedule restored where it was not."""
    taken = _replay_taken(move)
    if taken is None:
        return None
    if is_restored:
        return Fix("leave the schedule as it was restored", Level.SAFE, (taken,))
    for resumption in resumes.resumptions:
        if resumption.walk is walk:
            instead = restored_too(walk, resumption.weights, {"scheduler": move.subject})
            if instead is not None:
                title = "restore the schedule in place of its replay"
                return Fix(title, Level.UNSAFE, (taken, *instead.splices))
    return None


def _replay_taken(move: Move) -> Splice | None:
    """The loop that does nothing but step the schedule, or the step in a round that is skipped, cut out."""
    site = move.event.site
    around = blocks_around(site.source, site.node)
    block, position = around[0]
    if not isinstance(block[position], ast.Expr):
        return None
    if len(block) > 1:
        return cut(site.source, block, position) if isinstance(block[-1], ast.Continue) else None
    outer, place = around[1]
    return cut(site.source, outer, place) if isinstance(outer[place], ast.For | ast.While) else None


def _placed_by_batch(made: Site) -> Fix | None:
    """The place counted in batches, where the schedule is told how many an epoch has."""
    node = made.node
    given = {word.arg: word.value for word in node.keywords} if isinstance(node, ast.Call) else {}
    last, steps = given.get("last_epoch"), given.get("steps_per_epoch")
    if last is None or steps is None or not is_name_chain(last):
        return None
    text = f"({ast.unparse(last)} + 1) * {ast.unparse(steps)} - 1"
    splice = replaced(made.source, last, text)
    return Fix("tell the schedule its place in batches", Level.UNSAFE, (splice,)) if splice else None
