"""What a program minimises: every value that reaches a backward pass."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Function, Index
from stethoscope.program.objective.trainer_networks import trainer_networks
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.budget import budget
from stethoscope.program.walk.effects import effects
from stethoscope.program.walk.entries import training_entries, walk
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted, Sink
from stethoscope.program.walk.framework_instances import (
    collated_batch,
    hook_arguments,
    loss_in,
    made_for_hooks,
)
from stethoscope.program.walk.values import Choice, Constant, Site, Table, Value

ALL_STEPS = 120_000  # for all walks together: one or two seconds
FRAMEWORK_STEPS = 60_000  # for all that frameworks minimise together
TRAINER_BASES = ("Trainer", "SFTTrainer", "Seq2SeqTrainer")


@dataclass(frozen=True, slots=True, eq=False)
class Minimised:
    """A minimised value together with the walk that met it."""

    run: Execution
    sink: Sink


@remembered
def minimised(index: Index, settings: SettingsTree) -> list[Minimised]:
    """Walk the program from its outermost functions inwards until every backward pass was met."""
    known = effects(index)
    wanted = set(known.minimising)
    found: list[Minimised] = []
    left = budget(index, ALL_STEPS)
    for entry in training_entries(index):
        if not wanted.intersection(entry.reaches) and entry.reaches:
            continue
        run = Execution(index, settings, min(STEPS, left))
        walk(run, entry.start)
        left -= min(STEPS, left) - max(run.steps, 0)
        found.extend(Minimised(run, sink) for sink in run.sinks)
        wanted -= {function for sink in run.sinks for function in sink.within}
    found.extend(_framework_sinks(index, settings))
    return found


def _framework_sinks(index: Index, settings: SettingsTree) -> Iterator[Minimised]:
    """What a framework minimises for its user: the result of training_step, compute_loss or a network."""
    left = budget(index, FRAMEWORK_STEPS)
    for cls in index.classes:
        for method in _loss_methods(index, cls) if left > 0 else ():
            run = Execution(index, settings, min(STEPS, left))
            try:
                module = made_for_hooks(run, cls)
                known = {**hook_arguments(run, module, method), **collated_batch(run, module, method)}
                result = run.enter(method, module, known)
            except (Exhausted, RecursionError):
                continue
            finally:
                left -= min(STEPS, left) - max(run.steps, 0)
            value = loss_in(run, result) if method.name != "forward" else _named_loss(run, result)
            if value is not None:
                yield Minimised(run, Sink(value, Site(method.source, _return_of(method)), (method,)))


def _named_loss(run: Execution, result: Value) -> Value | None:
    """The loss that a network gives back under that name."""
    result = run.force(result)
    options = result.options if isinstance(result, Choice) else (result,)
    found = [one.entries["loss"] for one in options if isinstance(one, Table) and "loss" in one.entries]
    known = [one for one in found if not isinstance(one, Constant)]
    return known[0] if len(known) == 1 else None


def _return_of(method: Function) -> ast.AST:
    found = own_nodes(method.node, ast.Return)
    return max(found, key=lambda node: node.lineno, default=method.node)


def _loss_methods(index: Index, cls: Class) -> Iterator[Function]:
    if "training_step" in cls.methods:
        yield cls.methods["training_step"]
    if cls in trainer_networks(index):
        yield cls.methods["forward"]
    bases = [base.rpartition(".")[2] for base in index.outside_bases(cls)]
    if "compute_loss" in cls.methods and any(base.endswith("Trainer") for base in bases):
        yield cls.methods["compute_loss"]
