"""What a program asks its samplers with, as numbers: how many steps, from which noise, for which classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np

from stethoscope.program.data.ingredients import is_drawn, peeled
from stethoscope.program.index import Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.objective.declared_numbers import declared_numbers
from stethoscope.program.objective.flow_steps import STARTS
from stethoscope.program.objective.probe import computed
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.parameter_values import bind, entry_parameters
from stethoscope.program.walk.trace import Trace, traces
from stethoscope.program.walk.values import Constant, FunctionValue, Instance, Items, Leaf, Value

LABELS = frozenset({"y", "label", "labels", "classes", "c", "cls"})
MOST_CALLS = 2  # of one sampler that are tried
STEPS_OF_SCHEDULE = 50  # where a sampler is not told
START = Leaf("start")  # stands for the noise that a sampler starts from
PICTURE = Leaf("picture")  # and this for data that it is told of
LABEL = Constant(np.zeros(1, dtype=np.int64))  # of the first class


def asked(index: Index, settings: SettingsTree, sampler: Function) -> Iterator[dict[str, Value]]:
    """The arguments of each call of a sampler, with numbers for what is known and a network left as one."""
    called = {bare_name(node) for node in own_nodes(sampler.node, ast.Call)}
    for trace in traces(index, settings):
        for call in list(_calls(index, trace, sampler))[:MOST_CALLS]:
            bound = Leaf("self") if sampler.owner is not None else None
            given = bind(trace.run, sampler, bound, call.args, call.keywords)
            plain = {
                name: _network(trace, name, value) if name in called else _plain(index, settings, name, value)
                for name, value in given.items()
                if value is not bound
            }
            for unknown in (LABEL, PICTURE):
                yield {name: unknown if value is LABEL else value for name, value in plain.items()}
                if LABEL not in plain.values():
                    break


def _network(trace: Trace, name: str, value: Value) -> Value:
    made = trace.run.force(value)
    return made if isinstance(made, Instance) else Leaf(name)


def _calls(index: Index, trace: Trace, sampler: Function) -> Iterator[Call]:
    for event in trace.events:
        if isinstance(event, Call) and event.name == sampler.name and event.arguments_known:
            callee, receiver = event.callee, event.receiver
            if isinstance(callee, FunctionValue):
                is_one = callee.function is sampler
            elif isinstance(receiver, Instance):
                is_one = index.method(receiver.cls, sampler.name) is sampler
            else:
                is_one = sampler.owner is not None
            if is_one:
                yield event


def _plain(index: Index, settings: SettingsTree, name: str, value: Value) -> Value:
    """A number where it is one, one sample of noise or of a class where it is many, a device by its name."""
    if isinstance(value, Constant) and not isinstance(value.value, np.ndarray):
        return value
    if isinstance(value, Items):
        return value
    if "device" in name:
        return Constant("cpu")
    if is_drawn(peeled(value)):
        return START
    declared = declared_numbers(index, settings, [value]).get(value)
    if declared is not None:
        whole = declared[1] == int(declared[1])
        return Constant(int(declared[1]) if whole else declared[1])
    known = computed(index, value, (), ())
    if known is not None and known.ndim == 0:
        return Constant(known.item())
    if known is not None and known.dtype.kind == "f" and known.ndim > 1:
        return Leaf(name)
    return LABEL


def guessed(sampler: Function, shape: tuple[int, ...]) -> dict[str, Value]:
    """The arguments of a sampler by the names of its parameters, for what has no default."""
    called = {bare_name(node) for node in own_nodes(sampler.node, ast.Call)}
    values = {
        name: Leaf(name) if name in called else _by_name(sampler, name, shape)
        for name in entry_parameters(sampler)
    }
    return {name: value for name, value in values.items() if value is not None}


def _by_name(sampler: Function, name: str, shape: tuple[int, ...]) -> Value | None:
    """What a sampler is asked for; None for what has a default."""
    spec = sampler.node.args
    positional = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    with_default = {*positional[len(positional) - len(spec.defaults) :]} if spec.defaults else set()
    with_default |= {
        arg.arg for arg, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default is not None
    }
    if name in with_default:
        return None
    if "shape" in name or name == "size":
        return Items([Constant(size) for size in shape])
    if STARTS & {*words(name)}:
        return START
    if "step" in name or name in {"nfe", "T"}:
        return Constant(STEPS_OF_SCHEDULE)
    if name in {"n", "num", "count", "b", "bs", "k"} or name.startswith(("n_", "num_", "batch")):
        return Constant(1)
    if name in {"d", "dev"} or "device" in name:
        return Constant("cpu")
    return LABEL if name in LABELS else Leaf(name)
