"""The number that an expression of plain numbers is."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable

_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt,
    "log": math.log,
    "float": float,
    "abs": abs,
}


def number(node: ast.expr | None) -> float | None:
    """The value of `-0.5`, `1 / 3`, `math.sqrt(2)` or `2 ** 0.5`; None for anything with a name in it."""
    try:
        return _number(node)
    except (ArithmeticError, ValueError, TypeError):
        return None


def _number(node: ast.expr | None) -> float | None:
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            negated = _number(inner)
            return None if negated is None else -negated
        case ast.BinOp(left=left, op=operator, right=right):
            return _joined(_number(left), operator, _number(right))
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=[only], keywords=[]):
            given = _number(only)
            return None if given is None or name not in _FUNCTIONS else _FUNCTIONS[name](given)
    return None


def _joined(left: float | None, operator: ast.operator, right: float | None) -> float | None:
    if left is None or right is None:
        return None
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div():
            return left / right
        case ast.Pow() if abs(right) <= 16 and left > 0:
            return float(left**right)
    return None
