"""The steps of training and of evaluation of a Lightning module, walked one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.data.hook_batches import batch_given
from stethoscope.program.index import Class, Function, Index
from stethoscope.program.loop.moves import Kind, moves
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.budget import budget
from stethoscope.program.walk.events import Call, Event
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.framework_instances import made_for_hooks
from stethoscope.program.walk.trace import HOOK_STEPS, TRACE_STEPS
from stethoscope.program.walk.values import Instance, Value


@dataclass(frozen=True, slots=True, eq=False)
class StepPair:
    """The runs of networks in the two steps of one module, on batches of the loaders they are given."""

    run: Execution
    trained: tuple[Call, ...]
    judged: tuple[Call, ...]


@remembered
def step_pairs(index: Index, settings: SettingsTree) -> tuple[StepPair, ...]:
    """Both steps of every Lightning module that has them."""
    found: list[StepPair] = []
    left = budget(index, HOOK_STEPS)
    for cls, steps in _modules(index):
        if left <= 0:
            break
        run = Execution(index, settings, min(TRACE_STEPS, left), tracing=True)
        try:
            module = made_for_hooks(run, cls)
            halves = [_walked(run, step, batch_given(run, module, step), module) for step in steps]
            found.append(StepPair(run, halves[0], halves[1]))
        except (Exhausted, RecursionError):
            continue
        finally:
            left -= min(TRACE_STEPS, left) - max(run.steps, 0)
    return tuple(found)


def _modules(index: Index) -> Iterator[tuple[Class, Sequence[Function]]]:
    for cls in index.classes:
        if any(base.rpartition(".")[2] == "LightningModule" for base in index.outside_bases(cls)):
            steps = [index.method(cls, name) for name in ("training_step", "validation_step")]
            known = [step for step in steps if step is not None]
            if len(known) == len(steps):
                yield cls, known


def _walked(run: Execution, step: Function, given: dict[str, Value], module: Instance) -> tuple[Call, ...]:
    met = len(run.events)
    run.enter(step, module, given)
    events: tuple[Event, ...] = tuple(run.events[met:])
    forward = (move.event for move in moves(run, events) if move.kind is Kind.FORWARD)
    return tuple(event for event in forward if isinstance(event, Call))
