"""What a program minimises: every value that reaches a backward pass."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stethoscope.program.effects import BACKWARD, Effects, effects, hands_over_loss, own_nodes
from stethoscope.program.execution import STEPS, Execution, Exhausted, Sink
from stethoscope.program.index import Class, Function, FunctionNode, Index, Module
from stethoscope.program.remembered import remembered
from stethoscope.program.settings_tree import SettingsTree
from stethoscope.program.values import Applied, Items, Site, Table, Value, choice

MOST_WALKS = 24  # entries followed
ALL_STEPS = 200_000  # for all walks together: a few seconds
MOST_ANCESTORS = 200
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
    left = ALL_STEPS
    for entry in _entries(index, known):
        if not wanted.intersection(entry.reaches) and entry.reaches:
            continue
        run = Execution(index, settings, min(STEPS, left))
        _walk(run, entry)
        left -= min(STEPS, left) - max(run.steps, 0)
        found.extend(Minimised(run, sink) for sink in run.sinks)
        wanted -= {function for sink in run.sinks for function in sink.within}
    found.extend(_framework_sinks(index, settings))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    start: Function | Module
    reaches: frozenset[Function]


def _walk(run: Execution, entry: _Entry) -> None:
    try:
        if isinstance(entry.start, Module):
            run.enter_module(entry.start)
        else:
            run.enter(entry.start)
    except (Exhausted, RecursionError):
        pass  # what was met so far stands


def _entries(index: Index, known: Effects) -> Iterator[_Entry]:
    """Scripts and outermost callers first: they know what they hand to the functions inside."""
    height: dict[Function, int] = {}
    below: dict[Function, set[Function]] = {}
    for target in known.minimising:
        for ancestor, distance in _ancestors(target, known).items():
            height[ancestor] = max(height.get(ancestor, 0), distance)
            below.setdefault(ancestor, set()).add(target)
    scripts = [entry for module in index.modules.values() if (entry := _script(module, below)) is not None]
    inside = sorted(height, key=lambda function: -height[function])
    entries = [*scripts, *(_Entry(function, frozenset(below[function])) for function in inside)]
    direct = [_Entry(target, frozenset({target})) for target in known.minimising]
    yield from entries[:MOST_WALKS]
    yield from direct[:MOST_WALKS]


def _ancestors(target: Function, known: Effects) -> dict[Function, int]:
    """The functions that may call the target, directly or not, with their distance."""
    found = {target: 0}
    waiting = [target]
    while waiting and len(found) < MOST_ANCESTORS:
        current = waiting.pop(0)
        for caller in known.callers.get(_called_as(current), ()):
            if caller not in found:
                found[caller] = found[current] + 1
                waiting.append(caller)
    return found


def _called_as(function: Function) -> str:
    if function.name in {"__init__", "__call__", "forward"} and function.owner is not None:
        return function.owner.name
    return function.name


def _script(module: Module, below: Mapping[Function, set[Function]]) -> _Entry | None:
    """A module whose own statements train, or call something that does."""
    names = {_called_as(function): function for function in below}
    reaches: set[Function] = set()
    trains = False
    for node in _statement_nodes(module.source.tree):
        if isinstance(node, ast.Call):
            name = _name(node)
            trains = trains or name in BACKWARD or hands_over_loss(node)
            if name in names:
                reaches |= below[names[name]]
    return _Entry(module, frozenset(reaches)) if reaches or trains else None


def _statement_nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """What a module does itself, without the bodies of its functions and classes."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(
            child
            for child in ast.iter_child_nodes(node)
            if not isinstance(child, FunctionNode | ast.ClassDef)
        )


def _name(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _framework_sinks(index: Index, settings: SettingsTree) -> Iterator[Minimised]:
    """What a framework minimises for its user: the result of training_step or compute_loss."""
    for cls in index.classes:
        for method in _loss_methods(index, cls):
            run = Execution(index, settings)
            try:
                result = run.enter(method, run.make(cls))
            except (Exhausted, RecursionError):
                continue
            value = _loss_in(run, result)
            if value is not None:
                yield Minimised(run, Sink(value, Site(method.source, _return_of(method)), (method,)))


def _return_of(method: Function) -> ast.AST:
    found = [node for node in own_nodes(method.node) if isinstance(node, ast.Return)]
    return max(found, key=lambda node: node.lineno, default=method.node)


def _loss_methods(index: Index, cls: Class) -> Iterator[Function]:
    if "training_step" in cls.methods:
        yield cls.methods["training_step"]
    bases = [base.rpartition(".")[2] for base in index.outside_bases(cls)]
    if "compute_loss" in cls.methods and any(base.endswith("Trainer") for base in bases):
        yield cls.methods["compute_loss"]


def _loss_in(run: Execution, result: Value) -> Value | None:
    result = run.force(result)
    match result:
        case Table(entries=entries):
            return entries.get("loss")
        case Items(items=[first, *_]):
            return first
        case Applied():
            return result
    options = getattr(result, "options", None)
    if options:
        inner = [value for option in options if (value := _loss_in(run, option)) is not None]
        return choice(*inner) if inner else None
    return result
