"""The schedules that a Lightning module hands over, and how often Lightning moves them.

`configure_optimizers` gives optimizers alone, rows of optimizers and schedulers, or tables; a scheduler that
nothing is said of is moved once an epoch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class
from stethoscope.program.loop.fractions_for_steps import HOPS, number_told
from stethoscope.program.loop.hand_made_rates import all_schedules
from stethoscope.program.loop.known_numbers import known_number
from stethoscope.program.loop.roles import Role, role_of
from stethoscope.program.loop.schedules import Schedule
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.settings.mentions import mentions
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.parameter_values import entry_parameters, entry_value
from stethoscope.program.walk.values import Choice, Constant, Instance, Items, Table, Value

STEPS = 20_000  # of the walk through one configure_optimizers
NO_EPOCHS = 5000  # more than any training has
FAR = 20  # times the epochs of the run: nobody lays a schedule out for so many
FEWEST = 5  # epochs: a warm-up may well have as many steps as a short run has epochs
ENDS = frozenset({"T_max", "total_steps", "total_iters", "num_training_steps", "t_initial", "max_epochs"})


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
        made = run.force(run.enter(method, _made(run, owner)))
    except (Exhausted, RecursionError):
        return
    for scheduler, interval in _handed_over(run, made):
        for schedule in all_schedules(run, scheduler):
            yield ConfiguredSchedule(run, schedule, interval)


def amount_of_other_unit(loop: TrainingLoop, configured: ConfiguredSchedule) -> str:
    """Why the numbers of a schedule are no epochs where it is moved by them, nor steps where it is not."""
    epochs, steps = (planned(loop, name) for name in ("max_epochs", "max_steps"))
    for length in configured.schedule.lengths:
        known = known_number(configured.run, length.value) if length.name in ENDS else None
        if known is None:
            continue
        told = f"{length.name}={length.text} is {known:,.0f}"
        if configured.interval == "step":
            if epochs is not None and known == epochs and epochs >= FEWEST:
                return f"{told}, the number of epochs, and Lightning moves it with every batch"
        elif epochs is not None:
            if known >= FAR * epochs and known >= NO_EPOCHS:
                return f"{told}, and Lightning moves it once in each of {epochs:,.0f} epochs"
        elif known >= NO_EPOCHS:
            of = f" of a run of {steps:,.0f} steps" if steps is not None else ""
            return f"{told}, and Lightning moves it once an epoch{of}"
    return ""


def planned(loop: TrainingLoop, name: str) -> float | None:
    """How long the Trainer is told to go on: by the settings, or where it is made."""
    code = mentions(loop.run.index)
    trainers = [spot.node for spot in code.calls.get("Trainer", ()) if isinstance(spot.node, ast.Call)]
    words = [word.value for call in trainers for word in call.keywords if word.arg == name]
    numbers = {number_told(word, code, loop.run.settings, HOPS) for word in words}
    if not words:
        values = loop.run.settings.values_named(name)
        numbers = {float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool)}
    known = numbers.pop() if len(numbers) == 1 else None
    return known if known is not None and known > 0 else None


def _made(run: Execution, owner: Class) -> Instance:
    """The module with the numbers that it is made with, where it is made in one place."""
    code = mentions(run.index)
    calls = [spot.node for spot in code.calls.get(owner.name, ()) if isinstance(spot.node, ast.Call)]
    init = run.index.method(owner, "__init__")
    if init is None or len(calls) != 1:
        return run.make(owner)
    names = entry_parameters(init)
    placed = [*zip(names, calls[0].args, strict=False), *((w.arg, w.value) for w in calls[0].keywords)]
    numbers = {name: number_told(value, code, run.settings, HOPS) for name, value in placed if name in names}
    told = {name: Constant(number) for name, number in numbers.items() if name and number is not None}
    return run.construct(owner, (), {**{name: entry_value(init, name) for name in names}, **told}, True)


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
