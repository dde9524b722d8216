"""Engines of ignite: the functions that they call for each batch, in the loops that the engines have.

`Engine(update).run(loader)` calls `update` for every batch, and what was attached to its events after each
batch or epoch. Followed so, a round of such a program is a round of any other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, Module, dotted
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.effects import effects
from stethoscope.program.walk.entries import is_test, statement_nodes
from stethoscope.program.walk.events import Scope
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Part, Value

LOOPS = "for epoch in range(max_epochs):\n    for batch in {loader}: pass\n"
MOST_ENGINES = 4


@dataclass(frozen=True, slots=True, eq=False)
class TrainingEngine:
    """An engine that trains: its function, its loader, and what is called after each batch and epoch.

    `evaluated` are the functions of the engines that evaluate, each with what runs them and their loader.
    """

    module: Module
    step: Function
    loader: str
    after_batch: tuple[Function, ...]
    after_epoch: tuple[Function, ...]
    evaluated: tuple[tuple[Function, Function, str], ...]


def training_engines(index: Index) -> Iterator[TrainingEngine]:
    """The engines of scripts whose function has a backward pass."""
    training = effects(index).minimising
    for module in index.modules.values():
        if "ignite" not in module.source.text or is_test(module.source):
            continue
        functions = dict(_engines(index, module))
        runs = {name: loader for name, loader, _ in _runs(list(statement_nodes(module.source.tree)))}
        for name, step in list(functions.items())[:MOST_ENGINES]:
            if step not in training or name not in runs:
                continue
            handlers = list(_handlers(index, module, name))
            after_epoch = tuple(one for event, one in handlers if event == "EPOCH_COMPLETED")
            yield TrainingEngine(
                module,
                step,
                runs[name],
                tuple(one for event, one in handlers if event == "ITERATION_COMPLETED"),
                after_epoch,
                tuple(_evaluated(after_epoch, functions)),
            )


def _engines(index: Index, module: Module) -> Iterator[tuple[str, Function]]:
    """`trainer = Engine(update)`, alone or beside others."""
    for node in statement_nodes(module.source.tree):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target, value = node.targets[0], node.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=False))
        for name, made in pairs:
            match name, made:
                case ast.Name(id=kept), ast.Call(func=func, args=[given, *_]) if (
                    dotted(func) or ""
                ).rpartition(".")[2] == "Engine":
                    found = index.resolve(module, dotted(given) or "")
                    if isinstance(found, Function):
                        yield kept, found


def _runs(nodes: list[ast.AST]) -> Iterator[tuple[str, str, ast.Call]]:
    """`trainer.run(loader, max_epochs=30)`: the engine, the loader and the call."""
    for node in nodes:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="run"), args=[given, *_]):
                yield name, ast.unparse(given), node


def _handlers(index: Index, module: Module, engine: str) -> Iterator[tuple[str, Function]]:
    """The functions of a module that are attached to events of an engine, with the event."""
    for function in index.functions:
        if function.source is not module.source or function.owner is not None:
            continue
        for decorator in function.node.decorator_list:
            match decorator:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="on"), args=[event, *_]) if (
                    name == engine
                ):
                    yield _event(event), function
    for node in statement_nodes(module.source.tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="add_event_handler"), args=[event, given, *_]
            ) if name == engine:
                found = index.resolve(module, dotted(given) or "")
                if isinstance(found, Function):
                    yield _event(event), found


def _event(node: ast.expr) -> str:
    return (dotted(node) or "").rpartition(".")[2]


def _evaluated(
    handlers: tuple[Function, ...], engines: dict[str, Function]
) -> Iterator[tuple[Function, Function, str]]:
    for handler in handlers:
        for name, loader, _ in _runs(list(all_nodes(handler.node))):
            if name in engines:
                yield handler, engines[name], loader


def walk_engine(run: Execution, engine: TrainingEngine) -> None:
    """Follow the script, then a round of its engine with all that comes after it."""
    run.enter_module(engine.module)
    around, inside = _loops(engine.step, engine.loader, None)
    _enter(run, engine, engine.step, inside, engine.loader)
    for handler in engine.after_batch:
        _enter(run, engine, handler, inside, None)
    run.finished.add(inside.node)
    for handler in engine.after_epoch:
        _enter(run, engine, handler, around, None)
        for caller, step, loader in engine.evaluated:
            if caller is handler:
                held = _loops(step, loader, around)[1]
                _enter(run, engine, step, held, loader)
                run.finished.add(held.node)
    run.finished.add(around.node)
    run.scope = None


def _loops(step: Function, loader: str, outer: Scope | None) -> tuple[Scope, Scope]:
    """The loop over epochs and that over the batches of a loader, as if they stood around what is done."""
    tree = ast.parse(LOOPS.format(loader=loader))
    first = next((one for one in step.node.body if not isinstance(one, ast.Expr)), step.node.body[0])
    for node in all_nodes(tree):
        ast.copy_location(node, first)
    epochs = tree.body[0]
    assert isinstance(epochs, ast.For)
    around = outer or Scope("loop", epochs, step.source, None)
    return around, Scope("loop", epochs.body[0], step.source, around)


def _enter(run: Execution, engine: TrainingEngine, step: Function, scope: Scope, loader: str | None) -> None:
    given: dict[str, Value] = {}
    if loader is not None and loader.isidentifier() and len(step.parameters) > 1:
        given[step.parameters[1]] = Part(run.global_name(loader, engine.module), "*")
    run.scope = scope
    run.enter(step, None, given)
