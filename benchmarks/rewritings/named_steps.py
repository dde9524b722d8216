"""Nested expressions taken apart into a variable each, named as a person would after what it holds."""

from __future__ import annotations

import ast

from rewritings.small_steps import apart

OF_OPERATORS = {
    ast.Add: "summed",
    ast.Sub: "difference",
    ast.Mult: "scaled",
    ast.Div: "ratio",
    ast.MatMult: "product",
}


def rewrite(tree: ast.Module) -> ast.Module:
    """Write `softmax_2 = x.softmax(1)` and `f(softmax_2)` for `f(x.softmax(1))`."""
    return apart(tree, _named)


def _named(value: ast.expr, count: int) -> str:
    match value:
        case ast.BinOp(op=op):
            name = OF_OPERATORS.get(type(op), "combined")
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            name = name.strip("_").lower()
        case _:
            name = "computed"
    return f"{name}_{count}"
