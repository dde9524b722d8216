"""The networks that the training of a program makes, with the arguments they are made with."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stethoscope.program.experiments.invented import invented
from stethoscope.program.experiments.things import Foreign, Held, Routine
from stethoscope.program.index import Class, Function, Index
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.bounded_arrays import CannotCompute
from stethoscope.program.walk.calls import option_for
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.trace import traces
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    ClassValue,
    Constant,
    FunctionValue,
    Instance,
    Items,
    Leaf,
    Outside,
    Part,
    Settings,
    Table,
    Value,
)

MOST = 6  # networks of one program
DEPTH = 6
# What gives a table of settings, whose items may be known by their names.
READ = frozenset({"safe_load", "full_load", "load", "loads", "parse_args", "to_container"})
FILLING = re.compile(r"\w_\(|\.data\b|\binit\.")


@dataclass(frozen=True, eq=False, slots=True)
class Subject:
    """A network and how it is made."""

    cls: Class
    keywords: dict[str, Any]
    fills: tuple[Fill, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class Fill:
    """A function that is given a network, or applied to each of its parts, and writes into weights."""

    function: Function
    is_applied: bool
    arguments: tuple[Any, ...]  # behind the network
    keywords: dict[str, Any]


def subjects(index: Index, settings: SettingsTree) -> Iterator[Subject]:
    """The outermost networks of the program's training, each class once."""
    seen: set[Class] = set()
    for trace in traces(index, settings):
        for instance in trace.run.networks:
            if instance.cls in seen or is_test(instance.cls.source) or len(seen) >= MOST:
                continue
            if index.method(instance.cls, "forward") is None:
                continue
            seen.add(instance.cls)
            fills = tuple(_fills(trace.run, instance))
            yield Subject(instance.cls, _arguments(trace.run, instance), fills)


def _fills(run: Execution, network: Instance) -> Iterator[Fill]:
    """What fills a network's weights from outside, in the order of the program."""
    for event in run.events:
        if not isinstance(event, Call):
            continue
        if event.name == "apply" and event.receiver is not None and quietly(run, event.receiver) is network:
            applied = quietly(run, event.args[0]) if event.args else None
            if isinstance(applied, FunctionValue) and applied.bound is None:
                yield Fill(applied.function, True, (), {})
        elif isinstance(event.callee, FunctionValue) and event.callee.bound is None and event.args:
            function = event.callee.function
            if quietly(run, event.args[0]) is network and FILLING.search(ast.unparse(function.node)):
                others = tuple(_plain(run, one, DEPTH) for one in event.args[1:])
                named = {key: _plain(run, one, DEPTH) for key, one in event.keywords.items()}
                yield Fill(function, False, others, named)


def _arguments(run: Execution, instance: Instance) -> dict[str, Any]:
    """What is known of a network's arguments; what has a default and is not known keeps it."""
    init = run.index.method(instance.cls, "__init__")
    own = init.parameters[0] if init is not None and init.parameters else "self"
    given: dict[str, Any] = {}
    for name, value in instance.made_with.items():
        if name == own or (init is not None and name in _gathered(init.node)):
            continue
        given[name] = _plain(run, value, DEPTH, name)
    return given


def _gathered(node: Any) -> set[str]:
    return {arg.arg for arg in (node.args.vararg, node.args.kwarg) if arg is not None}


def _plain(run: Execution, value: Value, depth: int, name: str = "") -> Any:
    """A value of a walk as what the interpreter works with; `name` is what it is called where it is given."""
    if depth == 0:
        raise CannotCompute("nested too deep")
    try:
        value = run.force(value)
    except (Exhausted, RecursionError):
        return invented(name)
    match value:
        case Constant(value=known):
            return known
        case Items(items=items):
            return [_plain(run, item, depth - 1) for item in items]
        case Table(entries=entries, rest=rest) if not rest:
            return {key: _plain(run, item, depth - 1) for key, item in entries.items()}
        case Settings(tree=list() as listed):
            return [_plain(run, run.item(value, Constant(place)), depth - 1) for place in range(len(listed))]
        case Settings() | Instance():
            return _held(run, value, depth)
        case Applied(callee=callee) if callee.rpartition(".")[2] in READ:
            return _held(run, value, depth)
        case ClassValue(cls=cls):
            return cls
        case FunctionValue(function=function, bound=None):
            return Routine(function.node, run.index.module_of(function.source), function=function)
        case Outside(name=full):
            return Foreign(full)
        case Leaf() | Part() | Choice():
            option = option_for(run, value)
            return option.value if option is not None else invented(name)
    return invented(name)


def _held(run: Execution, value: Value, depth: int) -> Held:
    def attribute(name: str) -> Any:
        site: Any = None
        try:
            return _plain(run, run.attribute(value, name, site), depth - 1, name)
        except (Exhausted, RecursionError):
            raise CannotCompute(name) from None

    def item(key: Any) -> Any:
        try:
            return _plain(run, run.item(value, Constant(key)), depth - 1, str(key))
        except (Exhausted, RecursionError):
            raise CannotCompute(str(key)) from None

    return Held(attribute, item)
