"""Variables that are used once, in the next statement, written where they are used."""

from __future__ import annotations

import ast
from collections import Counter

SIMPLE = (ast.Assign, ast.AugAssign, ast.Return, ast.Expr)


class _Put(ast.NodeTransformer):
    def __init__(self, name: str, value: ast.expr) -> None:
        self.name, self.value = name, value

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.value if node.id == self.name and isinstance(node.ctx, ast.Load) else node


def _merged(statements: list[ast.stmt], uses: Counter[str]) -> list[ast.stmt]:
    written: list[ast.stmt] = []
    for statement in statements:
        for field in ("body", "orelse", "finalbody"):
            inner = getattr(statement, field, None)
            if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                setattr(statement, field, _merged(inner, uses))
        last = written[-1] if written else None
        match last:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                uses[name] == 2
                and isinstance(statement, SIMPLE)
                and not isinstance(value, ast.Constant)
                and _reads_once(statement, name)
            ):
                written[-1] = _Put(name, value).visit(statement)
            case _:
                written.append(statement)
    return written


def _reads_once(statement: ast.stmt, name: str) -> bool:
    closed = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    if any(isinstance(node, closed) for node in ast.walk(statement)):
        return False
    reads = [
        n
        for n in ast.walk(statement)
        if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
    ]
    return len(reads) == 1 and not isinstance(statement, ast.AugAssign)


def rewrite(tree: ast.Module) -> ast.Module:
    """Write `f(g(x))` for `a = g(x)` and `f(a)`."""
    uses = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    tree.body = _merged(tree.body, uses)
    return tree
