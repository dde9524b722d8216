"""The schedules that a Lightning module hands over, and how often Lightning moves them.

`configure_optimizers` gives optimizers alone, rows of optimizers and schedulers, or tables; a scheduler that
nothing is said of is moved once an epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.loop.hand_made_rates import all_schedules
from stethoscope.program.loop.roles import Role, role_of
from stethoscope.program.loop.schedules import Schedule
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.values import Choice, Constant, Items, Table, Value

STEPS = 20_000  # of the walk through one configure_optimizers


@dataclass(frozen=True, slots=True, eq=False)
class ConfiguredSchedule:
    """A schedule, the walk that made it, and the unit that Lightning moves it by: "epoch" or "step"."""

    run: Execution
    schedule: Schedule
    interval: str


def configured_schedules(loop: TrainingLoop) -> Iterator[ConfiguredSchedule]:
    """What the module of a training_step hands over, where Lightning itself moves it."""
    owner = loop.hook.owner if loop.hook is not None else None
    if owner is None or loop.trace.by_hand:
        return
    index = loop.run.index
    method = index.method(owner, "configure_optimizers")
    if method is None or index.method(owner, "lr_scheduler_step") is not None:
        return
    run = Execution(index, loop.run.settings, steps=STEPS)
    try:
        made = run.force(run.enter(method, run.make(owner)))
    except (Exhausted, RecursionError):
        return
    for scheduler, interval in _handed_over(run, made):
        for schedule in all_schedules(run, scheduler):
            yield ConfiguredSchedule(run, schedule, interval)


def _handed_over(run: Execution, made: Value) -> Iterator[tuple[Value, str]]:
    made = run.force(made)
    match made:
        case Choice(options=options) | Items(items=[*options]):
            for option in options:
                yield from _handed_over(run, option)
        case Table(entries=entries, rest=[]) if "scheduler" in entries:
            interval = entries.get("interval", Constant("epoch"))
            if isinstance(interval, Constant) and "frequency" not in entries:
                yield entries["scheduler"], str(interval.value)
        case Table(entries=entries) if "lr_scheduler" in entries:
            yield from _handed_over(run, entries["lr_scheduler"])
        case _ if role_of(run, made) is Role.SCHEDULER:
            yield made, "epoch"
