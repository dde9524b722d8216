"""Two assignments that have nothing to do with each other, in one line."""

from __future__ import annotations

import ast


def rewrite(tree: ast.Module) -> ast.Module:
    """Write `a, b = f(), g()` for `a = f()` and `b = g()`."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            inner = getattr(node, field, None)
            if isinstance(inner, list) and inner and not isinstance(node, ast.ClassDef):
                setattr(node, field, _paired(inner))
    return tree


def _paired(statements: list[ast.stmt]) -> list[ast.stmt]:
    written: list[ast.stmt] = []
    for statement in statements:
        match written[-1:], statement:
            case (
                [ast.Assign(targets=[ast.Name(id=first) as one], value=value)],
                ast.Assign(targets=[ast.Name(id=second) as other], value=then),
            ) if first != second and first not in _names(then) and not _is_plain(value) | _is_plain(then):
                both = ast.Tuple([one, other], ast.Store())
                written[-1] = ast.Assign([both], ast.Tuple([value, then], ast.Load()))
            case _:
                written.append(statement)
    return written


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _is_plain(value: ast.expr) -> bool:
    """Constants at the head of a file are settings, which nobody writes in pairs."""
    return isinstance(value, ast.Constant)
