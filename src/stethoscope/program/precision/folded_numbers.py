"""Plain numbers that are known before anything runs: small sums of constants, and defaults of parameters."""

from __future__ import annotations

import ast

from stethoscope.program.index import Function
from stethoscope.program.walk.values import Constant, Value


def folded(left: Value | None, op: ast.operator, right: Value | None) -> Value | None:
    """A small sum of known numbers, as `2 * self.eps`."""
    if not (isinstance(left, Constant) and isinstance(right, Constant)):
        return None
    a, b = left.value, right.value
    if not (isinstance(a, int | float) and isinstance(b, int | float)):
        return None
    try:
        match op:
            case ast.Mult():
                return Constant(a * b)
            case ast.Div():
                return Constant(a / b)
            case ast.Sub():
                return Constant(a - b)
            case ast.Pow() if abs(a) <= 1024 and abs(b) <= 64:
                return Constant(a**b)
    except (ZeroDivisionError, OverflowError):
        return None
    return None


def default_of(function: Function, name: str) -> Constant | None:
    """The plain default of a parameter."""
    spec = function.node.args
    positional = [*spec.posonlyargs, *spec.args]
    pairs = [*zip(reversed(positional), reversed(spec.defaults), strict=False)]
    pairs += [(arg, one) for arg, one in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if one]
    for arg, default in pairs:
        if arg.arg == name and isinstance(default, ast.Constant):
            return Constant(default.value)
    return None
