"""Functions of the repository that take a network out of its wrapper: `unwrap(model)` is the model."""

from __future__ import annotations

import ast
from functools import lru_cache

from stethoscope.program.index import Function
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.values import Delayed, FunctionValue, Value

BEHIND = frozenset({"module", "_orig_mod"})


def taken_from(value: Delayed) -> Value | None:
    """The argument that a call gives back, as it came or out of its wrapper."""
    if not isinstance(value.callee, FunctionValue) or value.callee.bound is not None:
        return None
    parameter = _given_back(value.callee.function)
    if parameter is None:
        return None
    position = value.callee.function.parameters.index(parameter)
    return value.args[position] if position < len(value.args) else value.keywords.get(parameter)


@lru_cache(maxsize=4096)
def _given_back(function: Function) -> str | None:
    """The parameter that every way through a function gives back."""
    if function.owner is not None or function.node.decorator_list:
        return None
    nodes = list(own_nodes(function.node))
    if any(isinstance(node, ast.Yield | ast.YieldFrom | ast.Await) for node in nodes):
        return None
    returned = [node.value for node in nodes if isinstance(node, ast.Return)]
    for parameter in function.parameters if returned else ():
        if all(_is_behind(one, parameter, function.name) for one in (*returned, *_put(nodes, parameter))):
            return parameter
    return None


def _put(nodes: list[ast.AST], name: str) -> list[ast.expr | None]:
    """What is assigned to a name; None for what is bound in another way."""
    found: list[ast.expr | None] = []
    plain: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            plain.add(id(node.targets[0]))
            if node.targets[0].id == name:
                found.append(node.value)
    others = (node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return found + [None for node in others if node.id == name and id(node) not in plain]


def _is_behind(node: ast.expr | None, name: str, itself: str) -> bool:
    """Whether an expression is a variable or what it wraps: `m.module if hasattr(m, "module") else m`."""
    match node:
        case ast.Name(id=found):
            return found == name
        case ast.Attribute(value=inner, attr=attr):
            return attr in BEHIND and _is_behind(inner, name, itself)
        case ast.IfExp(body=body, orelse=other):
            return _is_behind(body, name, itself) and _is_behind(other, name, itself)
        case ast.Call(func=ast.Name(id="getattr"), args=[inner, ast.Constant(value=str() as attr), other]):
            return attr in BEHIND and _is_behind(inner, name, itself) and _is_behind(other, name, itself)
        case ast.Call(func=ast.Name(id=called), args=[inner]) if called == itself:
            return _is_behind(inner, name, itself)
    return False
