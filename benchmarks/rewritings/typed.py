"""A program with types: what is assigned in functions and what they take is annotated."""

from __future__ import annotations

import ast


def rewrite(tree: ast.Module) -> ast.Module:
    """Annotate the first assignment of each variable of a function, and every parameter."""
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        declared = {
            n
            for node in ast.walk(function)
            if isinstance(node, ast.Global | ast.Nonlocal)
            for n in node.names
        }
        for argument in (*function.args.args, *function.args.kwonlyargs):
            if argument.arg not in ("self", "cls") and argument.annotation is None:
                argument.annotation = ast.Constant("Any")
        _annotate(function.body, {argument.arg for argument in function.args.args} | declared)
    return tree


def _annotate(body: list[ast.stmt], known: set[str]) -> None:
    for place, statement in enumerate(body):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name) as target], value=value) if name not in known:
                known.add(name)
                body[place] = ast.AnnAssign(target, ast.Constant("Any"), value, 1)
            case _:
                pass
