"""What the parameters of a function hold: what a call gives them, their defaults, or unknown things."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from stethoscope.program.index import Function
from stethoscope.program.syntax import FunctionNode
from stethoscope.program.walk.call_arguments import SPREAD
from stethoscope.program.walk.frames import Frame
from stethoscope.program.walk.values import Constant, Items, Leaf, Table, Value

if TYPE_CHECKING:
    from stethoscope.program.walk.execution import Execution


def bind(
    run: Execution,
    function: Function,
    bound: Value | None,
    args: Sequence[Value],
    keywords: Mapping[str, Value],
) -> dict[str, Value]:
    """The values of a function's parameters in a call."""
    spec = function.node.args
    positional = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    given = [*([bound] if bound is not None else []), *args]
    known = {*positional, *(arg.arg for arg in spec.kwonlyargs)}
    names = {name: value for name, value in keywords.items() if name in known}
    # A parameter cannot be given twice: a section that is spread out lost what is given by place.
    names.update(zip(positional, given, strict=False))
    if spec.vararg:
        names[spec.vararg.arg] = Items(given[len(positional) :])
    if spec.kwarg:
        others: dict[object, Value] = {
            n: v for n, v in keywords.items() if n not in known and n.isidentifier()
        }
        names[spec.kwarg.arg] = Table(others, [keywords[n] for n in keywords if n == SPREAD])
    spread = keywords.get(SPREAD)
    for name in known - names.keys():
        default = _default(function.node, name)
        home = Frame(run.index.module_of(function.source), {})
        if spread is not None and (default is None or _is_none(default)):
            names[name] = run.part(spread, name)
        else:
            names[name] = run.evaluate(default, home) if default is not None else Leaf(name)
    return names


def entry_value(function: Function, name: str) -> Value:
    """Switches and modes keep their default at an entry; numbers and objects are unknown."""
    default = _default(function.node, name)
    if isinstance(default, ast.Constant) and isinstance(default.value, bool | str):
        return Constant(default.value)
    return Leaf(name)


def entry_parameters(function: Function) -> tuple[str, ...]:
    """The parameters that whoever calls a function fills: `self` is none of them."""
    skip = 1 if function.owner is not None and "staticmethod" not in function.decorators else 0
    return function.parameters[skip:]


def _default(node: FunctionNode, name: str) -> ast.expr | None:
    spec = node.args
    positional = [*spec.posonlyargs, *spec.args]
    for arg, default in zip(reversed(positional), reversed(spec.defaults), strict=False):
        if arg.arg == name:
            return default
    named = zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
    return next((default for arg, default in named if arg.arg == name), None)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
