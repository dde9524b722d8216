"""Regions of autocast that the program's own context managers open: `with self.amp.forward(): ...`.

A generator opens one around its `yield`; an object keeps one and enters it in `__enter__`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress

from stethoscope.program.precision.autocast import autocast_of
from stethoscope.program.syntax import FunctionNode, all_nodes, own_nodes
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.frames import Frame
from stethoscope.program.walk.values import Delayed, FunctionValue, Instance, Value

STEPS = 4_000  # for looking up what is entered


def wrapped_region(run: Execution, value: Value | None) -> Value | None:
    """The autocast that entering a context manager of the repository enters; None where there is none."""
    match value:
        case Delayed(callee=FunctionValue() as callee) if "contextmanager" in _decorators(callee):
            return _around_yield(run, value, callee)
        case Instance(cls=cls, attributes=attributes) if run.index.method(cls, "__enter__") is not None:
            run.steps = max(run.steps, STEPS)
            with suppress(Exhausted, RecursionError):
                run.initialise(value)
            regions = [kept for kept in attributes.values() if autocast_of(kept) is not None]
            return regions[0] if len(regions) == 1 else _made_on_entering(run, value)
    return None


def _made_on_entering(run: Execution, value: Instance) -> Value | None:
    """The autocast that `__enter__` of an object makes and enters."""
    method = run.index.method(value.cls, "__enter__")
    if method is None or "autocast" not in ast.dump(method.node) or not method.parameters:
        return None
    frame = Frame(run.index.module_of(method.source), {method.parameters[0]: value})
    run.steps = max(run.steps, STEPS)
    try:
        calls = [node for node in own_nodes(method.node) if isinstance(node, ast.Call)]
        found = [run.evaluate(call, frame) for call in calls if "autocast" in ast.dump(call.func)]
    except (Exhausted, RecursionError):
        return None
    return next((one for one in found if autocast_of(one) is not None), None)


def _decorators(callee: FunctionValue) -> set[str]:
    return {name.rpartition(".")[2] for name in callee.function.decorators}


def _around_yield(run: Execution, value: Delayed, callee: FunctionValue) -> Value | None:
    function = callee.function
    run.steps = max(run.steps, STEPS)
    try:
        frame = Frame(run.index.module_of(function.source), _bound(run, value, callee))
        found = [run.evaluate(entered, frame) for entered in _entered(function.node)]
    except (Exhausted, RecursionError):
        return None
    return next((one for one in found if autocast_of(one) is not None), None)


def _entered(function: FunctionNode) -> Iterator[ast.expr]:
    """What is entered around the `yield` of a generator."""
    for node in own_nodes(function):
        if isinstance(node, ast.With) and any(isinstance(inner, ast.Yield) for inner in all_nodes(node)):
            yield from (item.context_expr for item in node.items)


def _bound(run: Execution, value: Delayed, callee: FunctionValue) -> dict[str, Value]:
    """The parameters of a generator as its call gives them, else their defaults."""
    spec = callee.function.node.args
    names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    home = Frame(run.index.module_of(callee.function.source), {})
    found: dict[str, Value] = dict(callee.around)
    for name, default in zip(reversed(names), reversed(spec.defaults), strict=False):
        found[name] = run.evaluate(default, home)
    given = [callee.bound, *value.args] if callee.bound is not None else list(value.args)
    found.update({name: one for name, one in zip(names, given, strict=False) if one is not None})
    found.update(value.keywords)
    return found
