"""Operators for the functions and methods that do the same, and `-x` for longer forms.

`x * x` stays: under autocast it is another thing than `x ** 2`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.spelling.nodes import become, below, full_name, outside_names

_OF_TWO: dict[str, type[ast.operator]] = {
    "add": ast.Add,
    "sub": ast.Sub,
    "subtract": ast.Sub,
    "mul": ast.Mult,
    "multiply": ast.Mult,
    "div": ast.Div,
    "divide": ast.Div,
    "true_divide": ast.Div,
    "truediv": ast.Div,
}
_NEGATIONS = frozenset({"neg", "negative"})
_HOMES = frozenset({"torch", "operator"})
# What only tensors have; `add` is also a set's, `sub` a pattern's, `multiply` nobody's method.
_METHODS = frozenset({"mul", "div", "neg"})


def settle_operators(tree: ast.Module) -> None:
    """Write `a - b` for `torch.sub(a, b)` and `-x` for `-1.0 * x`."""
    names = outside_names(tree)
    nodes = list(below(tree))
    thrown = {id(part) for node in nodes if isinstance(node, ast.Expr) for part in _chain(node.value)}
    for node in nodes:
        if isinstance(node, ast.Call) and not node.keywords and id(node) not in thrown:
            _settle_call(node, names)
        elif isinstance(node, ast.BinOp):
            _settle_arithmetic(node)


def _chain(node: ast.expr) -> Iterator[ast.expr]:
    """The calls of `x.mul(a).add(b)`: alone in a line they are a slip for `mul_`, and no arithmetic."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield node
        node = node.func.value


def _settle_call(call: ast.Call, names: dict[str, str]) -> None:
    home, _, name = full_name(call.func, names).rpartition(".")
    operands = call.args
    if home not in _HOMES:
        if home or not isinstance(call.func, ast.Attribute) or call.func.attr not in _METHODS:
            return
        name, operands = call.func.attr, [call.func.value, *call.args]
    if any(isinstance(one, ast.Starred) for one in operands):
        return
    if name in _OF_TWO and len(operands) == 2:
        become(call, ast.BinOp(operands[0], _OF_TWO[name](), operands[1]))
    elif name in _NEGATIONS and len(operands) == 1:
        become(call, ast.UnaryOp(ast.USub(), operands[0]))


def _settle_arithmetic(node: ast.BinOp) -> None:
    match node:
        case ast.BinOp(op=ast.Mult(), left=factor, right=other) if _is_minus_one(factor):
            become(node, ast.UnaryOp(ast.USub(), other))
        case ast.BinOp(op=ast.Mult(), left=other, right=factor) if _is_minus_one(factor):
            become(node, ast.UnaryOp(ast.USub(), other))


def _is_minus_one(node: ast.expr) -> bool:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)):
            return value == 1
        case ast.Constant(value=int() | float() as value):
            return value == -1
    return False
