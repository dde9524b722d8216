"""A loop that appends for a list that is written in one expression."""

from __future__ import annotations

import ast


def rewrite(tree: ast.Module) -> ast.Module:
    """Write `a = []` and a loop for `a = [f(x) for x in y]`, where the loop's names are used nowhere else."""
    for scope in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Module)]:
        stored = [n.id for n in ast.walk(scope) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        scope.body = _unrolled(scope.body, stored)
    return tree


def _unrolled(body: list[ast.stmt], stored: list[str]) -> list[ast.stmt]:
    written: list[ast.stmt] = []
    for statement in body:
        match statement:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.ListComp(
                    elt=element, generators=[ast.comprehension(target=target, iter=source, ifs=tests)]
                ),
            ) if all(
                stored.count(n.id) == 1 for n in ast.walk(target) if isinstance(n, ast.Name)
            ) and not any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(statement.value)):
                append = ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load())
                inner: ast.stmt = ast.Expr(ast.Call(append, [element], []))
                for test in reversed(tests):
                    inner = ast.If(test, [inner], [])
                written.append(ast.Assign([ast.Name(name, ast.Store())], ast.List([], ast.Load())))
                written.append(ast.For(target, source, [inner], []))
            case _:
                written.append(statement)
    return written
