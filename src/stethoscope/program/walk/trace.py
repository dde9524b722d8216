"""The program as it would happen: every walk from an entry, with the events it met in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Function, Index, Module
from stethoscope.program.loop.ignite_engines import training_engines, walk_engine
from stethoscope.program.loop.manual_optimization import is_by_hand, walk_by_hand
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.budget import budget
from stethoscope.program.walk.effects import effects
from stethoscope.program.walk.entries import Entry, training_entries, walk
from stethoscope.program.walk.events import Event
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.framework_instances import hook_arguments, loss_in, made_for_hooks
from stethoscope.program.walk.values import Instance, Value

TRACE_STEPS = 40_000  # expressions and statements followed from one entry: about half a second
ALL_STEPS = 160_000  # for all entries together
HOOK_STEPS = 80_000  # for all hooks of frameworks together
MOST_ENTRIES = 400


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """One walk. `complete` is false where its budget ended before the program did.

    `hook` is the method that a framework calls for every batch, where the walk is of one; `by_hand` says
    that the framework leaves all of a round to the hooks that were walked. `module` is the object of the
    hook, and `loss` what the hook gives back to be minimised.
    """

    start: Function | Module
    run: Execution
    events: tuple[Event, ...]
    complete: bool
    hook: Function | None = None
    by_hand: bool = False
    module: Instance | None = None
    loss: Value | None = None


@remembered
def traces(index: Index, settings: SettingsTree) -> tuple[Trace, ...]:
    """Walk the program from its outermost functions inwards until every backward pass was met."""
    wanted = set(effects(index).minimising)
    found: list[Trace] = []
    left = budget(index, ALL_STEPS)
    for entry in training_entries(index, MOST_ENTRIES):
        if not wanted.intersection(entry.reaches) and entry.reaches:
            continue
        # A function that trains is always followed, even where its callers used the budget up.
        is_direct = entry.start in wanted
        if left <= 0 and not is_direct:
            continue
        trace = _traced(index, settings, entry, TRACE_STEPS if is_direct else min(TRACE_STEPS, left))
        left -= TRACE_STEPS - max(trace.run.steps, 0)
        wanted = {function for function in wanted if function.node not in trace.run.finished}
        found.append(trace)
    found.extend(_hooks(index, settings))
    found.extend(_of_engines(index, settings))
    return tuple(found)


def _traced(index: Index, settings: SettingsTree, entry: Entry, steps: int) -> Trace:
    run = Execution(index, settings, steps, tracing=True)
    complete = walk(run, entry.start)
    return Trace(entry.start, run, tuple(run.events), complete)


def _of_engines(index: Index, settings: SettingsTree) -> Iterator[Trace]:
    """Walks of the engines of ignite, which have the loops."""
    for engine in training_engines(index):
        run = Execution(index, settings, TRACE_STEPS, tracing=True)
        complete = True
        try:
            walk_engine(run, engine)
        except (Exhausted, RecursionError):
            complete = False
        yield Trace(engine.module, run, tuple(run.events), complete)


# What frameworks call for each batch, by the classes that are derived from.
HOOKS = {
    "LightningModule": ("training_step",),
    "Trainer": ("training_step", "compute_loss"),
    "SFTTrainer": ("compute_loss",),
    "Seq2SeqTrainer": ("training_step", "compute_loss"),
}


def _hooks(index: Index, settings: SettingsTree) -> Iterator[Trace]:
    """Walks of the methods that a framework's loop calls."""
    left = budget(index, HOOK_STEPS)
    for cls in index.classes:
        for method in hook_methods(index, cls) if left > 0 else ():
            run = Execution(index, settings, min(TRACE_STEPS, left), tracing=True)
            complete, by_hand = True, False
            module, loss = None, None
            try:
                module = made_for_hooks(run, cls)
                by_hand = method.name == "training_step" and is_by_hand(run, module)
                if by_hand:
                    walk_by_hand(run, method, module)
                else:
                    loss = loss_in(run, run.enter(method, module, hook_arguments(run, module, method)))
            except (Exhausted, RecursionError):
                complete = False
            left -= min(TRACE_STEPS, left) - max(run.steps, 0)
            yield Trace(method, run, tuple(run.events), complete, method, by_hand, module, loss)


def hook_methods(index: Index, cls: Class) -> Iterator[Function]:
    """The methods of a class that a framework calls for every batch."""
    bases = [base.rpartition(".")[2] for base in index.outside_bases(cls)]
    names = {name for base in bases for name in HOOKS.get(base, ())}
    yield from (method for name, method in cls.methods.items() if name in names)
