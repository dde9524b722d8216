"""Functions that never want gradients, with a decorator instead of a `with`; and the other way round."""

from __future__ import annotations

import ast


def rewrite(tree: ast.Module) -> ast.Module:
    """Write `@torch.no_grad()` for a `with torch.no_grad():` that ends a function, and the opposite."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        match node:
            case ast.FunctionDef(body=[*before, ast.With(items=[item], body=inside)], decorator_list=[]) if (
                _is_off(item.context_expr) and not any(map(_tracks, before))
            ):
                node.body, node.decorator_list = [*before, *inside], [item.context_expr]
            case ast.FunctionDef(decorator_list=[ast.Call() as only]) if _is_off(only):
                node.body, node.decorator_list = [ast.With([ast.withitem(only)], node.body)], []
            case _:
                pass
    return tree


def _is_off(call: ast.expr) -> bool:
    return isinstance(call, ast.Call) and ast.unparse(call.func) == "torch.no_grad"


def _tracks(statement: ast.stmt) -> bool:
    """Whether a statement may compute something that gradients flow through: more than a number or a mode."""
    match statement:
        case ast.Assign(value=ast.Constant() | ast.List() | ast.Tuple()):
            return False
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="eval")) | ast.Constant()):
            return False
    return True
