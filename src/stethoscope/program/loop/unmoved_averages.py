"""Averages of the weights that a training makes and uses, and never moves.

An average is moved by a method of its own (`update`, `update_parameters`). It is not where the walk through
the training meets no such call on it, nothing in the source names one, and it is handed to nobody else who
might.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Index, dotted
from stethoscope.program.loop.roles import Role, role_of
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Assignment, Call
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    ClassValue,
    FunctionValue,
    Instance,
    Items,
    Site,
    Table,
    Value,
)

MOVING = frozenset({"update", "update_parameters", "step", "update_ema", "ema_update", "average_parameters"})
BLENDING = frozenset({"mul_", "lerp_", "add_", "copy_", "sub_", "lerp"})
# Of an average that is only looked at or put back, not moved.
KEEPING = frozenset({"__init__", "state_dict", "load_state_dict", "copy_to", "store", "restore", "forward"})


@dataclass(frozen=True, slots=True, eq=False)
class UnmovedAverage:
    """Where an average is made, what it is called, what would move it, and where it is used."""

    site: Site
    name: str
    method: str
    used: Site


def unmoved_averages(loop: TrainingLoop) -> Iterator[UnmovedAverage]:
    """The averages of a training that stay where they began."""
    if not loop.trace.complete or not loop.is_whole or not any(move.updates for move in loop.moves):
        return
    index = loop.run.index
    for event in loop.trace.events:
        if not isinstance(event, Assignment) or event.operator:
            continue
        average = _average(loop, event.value)
        name = (dotted(event.target) or "").rpartition(".")[2]
        methods = _moving(index, average) if average is not None and name else frozenset()
        if (
            average is None
            or not methods
            or _is_moved(loop, average, methods)
            or _is_handed_on(loop, average)
        ):
            continue
        used = _use(index, name, methods)
        if used is not None:
            yield UnmovedAverage(event.site, name, min(methods), used)


def _average(loop: TrainingLoop, value: Value) -> Instance | Applied | None:
    """The average that is made here, where it is certain to be one."""
    options = value.options if isinstance(value, Choice) else (value,)
    found = [one for one in options if isinstance(one, Instance | Applied)]
    if len(found) != 1 or role_of(loop.run, found[0]) is not Role.AVERAGE:
        return None
    one = found[0]
    if isinstance(one, Instance):
        return one
    is_output = one.callee.endswith("()")  # what the average gave when it was run
    return one if one.callee.rpartition(".")[2][:1].isupper() and not is_output else None


def _moving(index: Index, average: Instance | Applied | None) -> frozenset[str]:
    """The methods that move an average: those of its class that blend weights, or those of libraries."""
    if not isinstance(average, Instance):
        return MOVING
    lineage = index.lineage(average.cls)
    return frozenset(name for cls in lineage for name in _blending(cls))


def _blending(cls: Class) -> Iterator[str]:
    for name, method in cls.methods.items():
        calls = (one.func for one in all_nodes(method.node, ast.Call))
        if name not in KEEPING and any(getattr(func, "attr", "") in BLENDING for func in calls):
            yield name


def _is_moved(loop: TrainingLoop, average: Value, methods: frozenset[str]) -> bool:
    calls = [event for event in loop.trace.events if isinstance(event, Call)]
    moving = methods | MOVING
    return any(call.callee is average or (call.receiver is average and call.name in moving) for call in calls)


def _is_handed_on(loop: TrainingLoop, average: Value) -> bool:
    """Whether code that is not here gets the average, and may move it."""
    for event in loop.trace.events:
        if not isinstance(event, Call) or isinstance(event.callee, FunctionValue | ClassValue):
            continue
        given = [*event.args, *event.keywords.values()]
        inside = [item for one in given for item in _items(one)]
        if any(one is average for one in (*given, *inside)) and not _is_ours(loop, event):
            return True
    return False


def _items(value: Value) -> list[Value]:
    if isinstance(value, Table):
        return list(value.entries.values())
    return list(value.items) if isinstance(value, Items) else []


def _is_ours(loop: TrainingLoop, call: Call) -> bool:
    """Whether a call leads into the repository, where it was followed."""
    receiver = call.receiver
    return isinstance(receiver, Instance) and loop.run.index.method(receiver.cls, call.name) is not None


def _use(index: Index, name: str, methods: frozenset[str]) -> Site | None:
    """Where the average is looked into or handed to somebody; none where anything may move it by name."""
    found: Site | None = None
    for source in index.program:
        if name not in source.text:
            continue
        for node in all_nodes(source.tree):
            if isinstance(node, ast.Constant) and node.value in methods:
                return None  # getattr(average, "update")
            if not isinstance(node, ast.Attribute) or (dotted(node.value) or "").rpartition(".")[2] != name:
                continue
            if node.attr in methods or node.attr in MOVING:
                return None
            if node.attr not in {"to", "eval", "requires_grad_", "cuda"} and found is None:
                found = Site(source, node)
    return found
