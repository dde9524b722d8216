"""A value that is asked for in the next line gets its name there: `if (a := f(x)) > b`."""

from __future__ import annotations

import ast
from typing import Any


class _Rewriter(ast.NodeTransformer):
    def generic_visit(self, node: ast.AST) -> Any:
        super().generic_visit(node)
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(node, field, None)
            if isinstance(statements, list) and statements and isinstance(statements[0], ast.stmt):
                setattr(node, field, _joined(statements))
        return node


def _joined(statements: list[ast.stmt]) -> list[ast.stmt]:
    written: list[ast.stmt] = []
    for statement in statements:
        match written[-1:], statement:
            case (
                [ast.Assign(targets=[ast.Name(id=name) as target], value=value)],
                ast.If(test=ast.Compare(left=ast.Name(id=read)) as test),
            ) if name == read:
                test.left = ast.NamedExpr(target, value)
                written[-1] = statement
            case _:
                written.append(statement)
    return written


def rewrite(tree: ast.Module) -> ast.Module:
    """Name a value inside the condition that asks for it."""
    return _Rewriter().visit(tree)
