"""A schedule counted in epochs is moved with every batch, or one counted in steps once an epoch.

## What it checks
For each torch or transformers scheduler: in which loop it is stepped, against what its lengths are counted
in. `T_max=epochs` stepped with every batch; `StepLR(step_size=30)`, `ExponentialLR(0.9)` or milestones
below the number of epochs stepped with every batch inside a loop over epochs; and the reverse, lengths made
of `len(loader)` or named steps and iterations, stepped once an epoch; and a whole training
(`num_training_steps`) that is as long as one of several epochs. A `SequentialLR` or
`ChainedScheduler` counts as its members do, a `LambdaLR` as its function divides. A rate that the loop sets
by hand must not divide a count of steps by a number of epochs, nor the reverse. A schedule whose course can
be computed, laid out over the rounds of the loop, must not be moved in every n-th of them only. In Lightning
the `interval` that `configure_optimizers` hands over, "epoch" where it says nothing, is held against the
lengths in the same way, by their names and by their numbers: nobody trains for 20,000 epochs.

## Why it matters
Too fast, the rate is spent within the first epoch: it vanishes, or with a cosine it swings up and down
hundreds of times. Too slow, warm-up never ends and the decay never comes. Nothing is raised and the loss
still falls.

## When it is harmless
Lengths that are multiplied by the batches of an epoch and stepped per batch; `scheduler.step(epoch + i /
n)`, which says where it is; a loop over epochs that makes one update each. Small decays per batch, such as
`ExponentialLR(0.999)`, are a choice.

## References
- torch.optim.lr_scheduler
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.statements import blocks_around, cut, holding, put_after
from stethoscope.program.loop.configured_schedules import (
    ConfiguredSchedule,
    amount_of_other_unit,
    configured_schedules,
    planned,
)
from stethoscope.program.loop.course_ends import Misfit
from stethoscope.program.loop.hand_made_rates import all_schedules, mixed_rates
from stethoscope.program.loop.known_numbers import known_number
from stethoscope.program.loop.schedule_steps import ScheduleStep, count_of, epoch_loop, schedule_steps
from stethoscope.program.loop.schedules import (
    CHAINS,
    Length,
    Schedule,
    counts_batches,
    is_made_of,
    numbers_in,
    unit_of,
)
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.walk.ancestry import ancestry
from stethoscope.program.walk.events import Call, Scope
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Applied, Constant
from stethoscope.run import Fix, Level, Splice
from stethoscope.signals.rate_courses import RateCourses
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP108", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)

FEWEST_ROUNDS = 200  # batches that any training has, all epochs together
VANISHED = 1e-4  # of the first rate: what is left then trains nothing
# What stays wrong when the schedule is stepped once an epoch: its length must be another.
WRONG_BY_LENGTH = ("is as long as one epoch", "has a part that counts epochs")
FOR_EVER = 1e5  # epochs: the run ends by a count of its steps
LAST_EPOCH = 300  # milestones beyond may be steps; an epoch has more batches than this only rarely


def examine(loops: TrainingLoops, courses: RateCourses | None) -> Iterator[Finding]:
    """Report each schedule that is stepped in other units than it is counted in."""
    for end in courses.of(Misfit.COUNTS_TOO_SLOWLY) if courses is not None else ():
        rounds, few = f"{end.course.rounds:,}", f"{1 / end.course.pace:g}"
        yield Finding(
            end.course.site.where,
            f"{end.course.name} is laid out over the {rounds} rounds of the loop and is moved in 1 of {few} "
            f"or more: in the last of them it gives {end.last:.0%} of its highest rate",
            evidence={"rounds": end.course.rounds, "pace": end.course.pace, "last": round(end.last, 4)},
        )
    for end in courses.of(Misfit.SWINGS) if courses is not None else ():
        yield Finding(
            end.course.site.where,
            f"{end.course.name} is back at its highest rate in round {end.at:,} and comes up again "
            "and again: it is laid out over no more rounds than there are epochs, and moved with every batch",
            evidence={"rounds": end.course.rounds, "back by": end.at},
        )
    for loop in loops:
        told: set[int] = set()
        for step in schedule_steps(loop):
            call = step.move.event
            if not isinstance(call, Call) or call.args or call.keywords or id(call.site.node) in told:
                continue
            for schedule in all_schedules(loop.run, step.move.subject):
                why = _mismatch(loop, step, schedule)
                if why:
                    told.add(id(call.site.node))
                    yield _finding(loop, step, schedule, why)
                    break
        for mixed in mixed_rates(loop):
            yield Finding(
                where=(mixed.count.where, mixed.rate.where),
                message=f"the learning rate is laid out in {mixed.laid_out}s and computed from a count of "
                f"{mixed.counted}s",
                evidence={"count": mixed.count.text, "rate": mixed.rate.text},
            )
        for configured in configured_schedules(loop):
            why = _configured_mismatch(loop, configured) or amount_of_other_unit(loop, configured)
            if why:
                yield Finding(
                    where=configured.schedule.site.where,
                    message=f"{configured.schedule.kind} {why}",
                    evidence={"made": configured.schedule.site.text, "interval": configured.interval},
                )


def _configured_mismatch(loop: TrainingLoop, configured: ConfiguredSchedule) -> str:
    """What is wrong with the interval by which Lightning moves a schedule."""
    run, schedule = configured.run, configured.schedule
    units = [(length, unit_of(run, length)) for length in schedule.lengths]
    if configured.interval == "epoch":
        if schedule.kind == "OneCycleLR" and _has_many_batches(schedule):
            return "is laid out in batches (steps_per_epoch), and Lightning moves it once an epoch"
        for length, unit in units:
            if unit == "step" and length.name not in {"step_size", "milestones"}:
                return f"counts steps ({length.name}={length.text}), and Lightning moves it once an epoch"
    if configured.interval == "step" and "step" not in {unit for _, unit in units}:
        for length, unit in units:
            if unit == "epoch":
                return f"counts epochs ({length.name}={length.text}), and Lightning moves it with every batch"
    if configured.interval == "step" and schedule.kind in CHAINS:
        why = _of_two_units(run, schedule)
        if why:
            return f"{why}, and Lightning moves it with every batch"
    if configured.interval == "step":
        rounds = _rounds(loop)
        left = _left(run, schedule, rounds)
        if left is not None and left < VANISHED:
            return (
                f"leaves {left:.2g} of the rate after {rounds} batches, and Lightning moves it with every one"
            )
    return ""


def _finding(loop: TrainingLoop, step: ScheduleStep, schedule: Schedule, why: str) -> Finding:
    site = step.move.event.site
    is_moved_too_often = step.round is loop.body and not why.startswith(WRONG_BY_LENGTH)
    splices = _fix(loop, step) if is_moved_too_often else ()
    return Finding(
        where=(site.where, schedule.site.where),
        message=f"{schedule.kind} {why}",
        evidence={"made": schedule.site.text, "stepped": site.text},
        fix=Fix("step the schedule once an epoch", Level.UNSAFE, splices) if splices else None,
    )


def _mismatch(loop: TrainingLoop, step: ScheduleStep, schedule: Schedule) -> str:
    epochs = epoch_loop(loop)
    if epochs is None:
        return ""
    if step.round is loop.body:
        return _too_fast(loop, schedule)
    if step.round is epochs and not _is_updated_in(loop, epochs):
        return _too_slow(loop, schedule)
    return ""


def _is_updated_in(loop: TrainingLoop, round_: Scope) -> bool:
    """Whether the weights are updated in the rounds of this loop, behind one that gathers gradients."""
    updates = [move for move in (*loop.moves, *loop.after) if move.updates]
    loops = (next((s for s in move.event.scopes() if s.kind == "loop"), None) for move in updates)
    return any(scope is round_ for scope in loops)


def _too_fast(loop: TrainingLoop, schedule: Schedule) -> str:
    if schedule.kind in CHAINS and "step" in {unit_of(loop.run, length) for length in schedule.lengths}:
        why = _of_two_units(loop.run, schedule)
        return f"{why}, and is stepped with every batch" if why else ""
    for length in schedule.lengths:
        if _is_of_one_epoch(loop, length):
            return (
                f"is as long as one epoch ({length.name}={length.text}), and is stepped through all of them"
            )
        unit = unit_of(loop.run, length)
        if unit == "step":
            return ""
        if schedule.kind == "OneCycleLR" or schedule.made.keywords.get("steps_per_epoch") is not None:
            return ""
        if unit == "epoch" or _is_epoch_count(loop, length):
            return f"counts epochs ({length.name}={length.text}) and is stepped with every batch"
        if schedule.kind == "MultiStepLR" and _are_epochs(loop, length):
            return (
                f"has its milestones {length.text} within the first batches: it is stepped with every batch"
            )
    rounds = _rounds(loop)
    left = _left(loop.run, schedule, rounds)
    if left is not None and left < VANISHED:
        return (
            f"is stepped with every batch, and leaves {left:.2g} of the learning rate after {rounds} of them"
        )
    return ""


def _of_two_units(run: Execution, schedule: Schedule) -> str:
    """One member of a chain that counts epochs beside others that count steps."""
    for length in schedule.lengths:
        made = [one.callee for one in ancestry(run, length.value) if isinstance(one, Applied)]
        if unit_of(run, length) == "epoch" and not {"*", "len", "//", "/"} & set(made):
            told = f"{length.name}={length.text}"
            return f"has a part that counts epochs ({told})"
    return ""


def _is_of_one_epoch(loop: TrainingLoop, length: Length) -> bool:
    """Whether a whole training is said to be the batches of a loader, in a loop over several epochs.

    Only transformers' schedules say so; a cosine of torch may well come round with each epoch.
    """
    if length.name != "num_training_steps" or not counts_batches(loop.run, length.value):
        return False
    if any(isinstance(one, Applied) and one.callee == "*" for one in ancestry(loop.run, length.value)):
        return False
    epochs = epoch_loop(loop)
    count = count_of(epochs) if epochs is not None else None
    known = known_number(loop.run, count) if count is not None else None
    return count is not None and (known is None or known > 1)


def _rounds(loop: TrainingLoop) -> int:
    """How many batches there are at the least."""
    told = planned(loop, "max_steps") if loop.hook is not None else None
    return max(int(told), FEWEST_ROUNDS) if told is not None else FEWEST_ROUNDS


def _is_epoch_count(loop: TrainingLoop, length: Length) -> bool:
    """Whether a length is the very number of epochs that the loop around runs for."""
    epochs = epoch_loop(loop)
    count = count_of(epochs) if epochs is not None else None
    if count is None:
        return False
    if length.value is count and not (isinstance(count, Constant) and count.value is None):
        return True
    if length.name == "lr_lambda":
        return False  # a warm-up of as many steps as there are epochs
    known, wanted = numbers_in(loop.run, length.value), numbers_in(loop.run, count)
    return len(known) == 1 and known == wanted


def _are_epochs(loop: TrainingLoop, length: Length) -> bool:
    known = numbers_in(loop.run, length.value)
    epochs = epoch_loop(loop)
    count = count_of(epochs) if epochs is not None else None
    total = numbers_in(loop.run, count) if count is not None else []
    most = total[0] if total and total[0] < FOR_EVER else LAST_EPOCH
    return bool(known) and max(known) <= most


def _left(run: Execution, schedule: Schedule, rounds: int) -> float | None:
    """The share of the first rate that is left after so many batches."""
    if schedule.gamma is None or not 0 < schedule.gamma < 1:
        return None
    if schedule.kind == "ExponentialLR":
        return float(schedule.gamma**rounds)
    if schedule.kind != "StepLR" or not schedule.lengths:
        return None
    known = numbers_in(run, schedule.lengths[0].value)
    return float(schedule.gamma ** (rounds // known[0])) if known and known[0] >= 1 else None


def _too_slow(loop: TrainingLoop, schedule: Schedule) -> str:
    if loop.body is None or loop.body.kind != "loop":
        return ""
    if schedule.kind == "OneCycleLR" and _has_many_batches(schedule):
        return "is laid out in batches (steps_per_epoch) and is stepped once an epoch, so it never unfolds"
    for length in schedule.lengths:
        if unit_of(loop.run, length) == "step" and not _is_epoch_count(loop, length):
            if length.name in {"step_size", "milestones"} and not _is_product(loop, length):
                continue  # "steps" may well be those of the schedule
            return f"counts steps ({length.name}={length.text}) and is stepped once an epoch"
    return ""


def _has_many_batches(schedule: Schedule) -> bool:
    given = schedule.made.keywords.get("steps_per_epoch")
    return given is not None and not (isinstance(given, Constant) and given.value == 1)


def _is_product(loop: TrainingLoop, length: Length) -> bool:
    value = loop.run.force(length.value)
    return isinstance(value, Applied) and any(
        isinstance(one, Applied) and one.callee == "len" and is_made_of(value, one)
        for one in (value, *value.args)
    )


def _fix(loop: TrainingLoop, step: ScheduleStep) -> tuple[Splice, ...]:
    """The statement moved behind the loop over batches, where that is in the same function."""
    site = step.move.event.site
    body = loop.body
    if body is None or body.source is not site.source:
        return ()
    around = blocks_around(site.source, site.node)
    outer = next(((block, p) for block, p in around if block[p] is body.node), None)
    if outer is None or epoch_loop(loop) is None:
        return ()
    block, position = around[0]
    taken = cut(site.source, block, position)
    epochs = epoch_loop(loop)
    inner = getattr(epochs.node, "body", []) if epochs is not None else []
    if taken is None or holding(inner, body.node) is None:
        return ()
    return (taken, put_after(site.source, outer[0][outer[1]], site.text))
