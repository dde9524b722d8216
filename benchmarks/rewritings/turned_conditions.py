"""Two branches in the other order, under the opposite condition."""

from __future__ import annotations

import ast


def rewrite(tree: ast.Module) -> ast.Module:
    """Write `if not a: y else: x` for `if a: x else: y`."""
    for node in ast.walk(tree):
        match node:
            case ast.If(orelse=[_, *_] as other) if not isinstance(other[0], ast.If):
                node.test = _opposite(node.test)
                node.body, node.orelse = other, node.body
            case _:
                pass
    return tree


def _opposite(test: ast.expr) -> ast.expr:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return inner
        case _:
            return ast.UnaryOp(ast.Not(), test)
