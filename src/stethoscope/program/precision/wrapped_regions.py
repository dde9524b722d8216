"""Regions of autocast that the program's own context managers open: `with self.amp.forward(): ...`.

A generator opens one around its `yield`; an object keeps one and enters it in `__enter__`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import suppress

from stethoscope.program.precision.autocast import autocast_of
from stethoscope.program.settings.stated_options import stated
from stethoscope.program.syntax import own_below, own_nodes
from stethoscope.program.walk.arithmetic import truth
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.frames import Frame
from stethoscope.program.walk.values import Delayed, FunctionValue, Instance, Leaf, Value, choice

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
        calls = own_nodes(method.node, ast.Call)
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
        names = {name: _stated(run, one) for name, one in _bound(run, value, callee).items()}
        frame = Frame(run.index.module_of(function.source), names)
        found = [_region(run, way, frame) for way in _ways(run, function.node.body, frame)]
    except (Exhausted, RecursionError):
        return None
    return choice(*found) if any(autocast_of(one) is not None for one in found) else None


def _region(run: Execution, entered: Sequence[ast.expr], frame: Frame) -> Value:
    """The autocast among what is entered; a leaf where there is none."""
    values = (run.evaluate(one, frame) for one in entered)
    return next((value for value in values if autocast_of(value) is not None), Leaf("no region"))


def _ways(
    run: Execution, body: Sequence[ast.stmt], frame: Frame, entered: tuple[ast.expr, ...] = ()
) -> Iterator[tuple[ast.expr, ...]]:
    """What is entered on each way to a `yield` that may be the first one reached."""
    for statement in body:
        match statement:
            case ast.Expr(value=ast.Yield()) | ast.Assign(value=ast.Yield()):
                yield entered
                return
            case ast.If(test=test, body=then, orelse=otherwise):
                known = truth(run.evaluate(test, frame))
                arms = (then, otherwise) if known is None else (then if known else otherwise,)
                for arm in arms:
                    yield from _ways(run, arm, frame, entered)
                if all(map(_gives, arms)):
                    return
            case ast.With(items=items, body=inner):
                yield from _ways(run, inner, frame, (*entered, *(item.context_expr for item in items)))
                if _gives(inner):
                    return
            case ast.Try(body=tried):
                yield from _ways(run, tried, frame, entered)
                if _gives(tried):
                    return
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                frame.names[name] = run.evaluate(value, frame)


def _gives(body: Sequence[ast.stmt]) -> bool:
    return any(isinstance(node, ast.Yield) for statement in body for node in own_below(statement))


def _stated(run: Execution, value: Value) -> Value:
    return stated(run.index, run.settings, value) or value


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
