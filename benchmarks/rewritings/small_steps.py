"""Nested expressions taken apart into a variable each."""

from __future__ import annotations

import ast
from collections.abc import Callable

CLOSED = (
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.BoolOp,
    ast.IfExp,
    ast.Await,
)
SIMPLE = (ast.Assign, ast.AugAssign, ast.Return, ast.Expr, ast.AnnAssign)


class _Apart:
    """Takes the calls inside a statement out of it, innermost first."""

    def __init__(self, named: Callable[[ast.expr, int], str]) -> None:
        self.count = 0
        self.named = named

    def statements(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        written: list[ast.stmt] = []
        for statement in statements:
            before: list[ast.stmt] = []
            if isinstance(statement, SIMPLE) and statement.value is not None and not _is_pure_text(statement):
                self._inside(statement.value, before)
            for field in ("body", "orelse", "finalbody"):
                inner = getattr(statement, field, None)
                if (
                    isinstance(inner, list)
                    and inner
                    and isinstance(inner[0], ast.stmt)
                    and not isinstance(statement, ast.ClassDef)
                ):
                    setattr(statement, field, self.statements(inner))
                elif isinstance(inner, list) and isinstance(statement, ast.ClassDef):
                    for member in inner:
                        if isinstance(member, ast.FunctionDef):
                            member.body = self.statements(member.body)
            for handler in getattr(statement, "handlers", []):
                handler.body = self.statements(handler.body)
            written += [*before, statement]
        return written

    def _inside(self, value: ast.expr, before: list[ast.stmt]) -> None:
        if isinstance(value, CLOSED):
            return
        for field, child in ast.iter_fields(value):
            if isinstance(child, ast.expr):
                setattr(value, field, self._taken(value, field, child, before))
            elif isinstance(child, list):
                setattr(value, field, [self._one(value, each, before) for each in child])

    def _one(self, value: ast.expr, child: ast.AST, before: list[ast.stmt]) -> ast.AST:
        if isinstance(child, ast.keyword):
            child.value = self._taken(value, "keyword", child.value, before)
            return child
        return self._taken(value, "args", child, before) if isinstance(child, ast.expr) else child

    def _taken(self, parent: ast.expr, field: str, child: ast.expr, before: list[ast.stmt]) -> ast.expr:
        if isinstance(child, (*CLOSED, ast.Starred)):
            return child
        self._inside(child, before)
        if isinstance(child, ast.Call | ast.BinOp) and not _is_super(child) and not _is_constant(child):
            self.count += 1
            name = self.named(child, self.count)
            before.append(ast.Assign([ast.Name(name, ast.Store())], child))
            return ast.Name(name, ast.Load())
        return child


def _is_super(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "super"


def _is_constant(value: ast.expr) -> bool:
    return all(
        isinstance(node, ast.Constant | ast.BinOp | ast.operator | ast.UnaryOp | ast.unaryop)
        for node in ast.walk(value)
    )


def _is_pure_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def apart(tree: ast.Module, named: Callable[[ast.expr, int], str]) -> ast.Module:
    """Give each call and each sum inside a statement a name of its own."""
    tree.body = _Apart(named).statements(tree.body)
    return tree


def rewrite(tree: ast.Module) -> ast.Module:
    """Write `t1 = g(x)` and `f(t1)` for `f(g(x))`."""
    return apart(tree, lambda _, count: f"t{count}")
