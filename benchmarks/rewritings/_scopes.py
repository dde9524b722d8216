"""Which names of a program are its own variables."""

from __future__ import annotations

import ast
import builtins


def variables(tree: ast.Module) -> set[str]:
    """The names that are only ever variables or parameters, and that nothing outside can know."""
    bound = {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return bound - _known_outside(tree)


def _known_outside(tree: ast.Module) -> set[str]:
    known = set(dir(builtins)) | {"self", "cls", "__all__"}
    is_spread = any(isinstance(node, ast.keyword) and node.arg is None for node in ast.walk(tree))
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef():
                known.add(node.name)
                if is_spread and not isinstance(node, ast.ClassDef):  # `f(**settings)` knows the parameters
                    known.update(one.arg for one in (*node.args.args, *node.args.kwonlyargs))
            case ast.Import() | ast.ImportFrom():
                known.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
            case ast.keyword(arg=str() as name):
                known.add(name)
            case ast.Global() | ast.Nonlocal():
                known.update(node.names)
            case _:
                pass
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):  # the fields of a class are what its callers know
            known.update(
                target.id
                for statement in node.body
                for target in ast.walk(statement)
                if isinstance(statement, ast.Assign | ast.AnnAssign)
                and isinstance(target, ast.Name)
                and isinstance(target.ctx, ast.Store)
            )
    return known
