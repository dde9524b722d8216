"""Optimizers that are looked up by their name, as settings give it."""

from __future__ import annotations

import ast


def rewrite(tree: ast.Module) -> ast.Module:
    """Write `getattr(torch.optim, "Adam")(...)` for `torch.optim.Adam(...)`."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Attribute(value=ast.Name(id="torch"), attr="optim") as home, attr=name
                )
            ) if name[:1].isupper():
                node.func = ast.Call(ast.Name("getattr", ast.Load()), [home, ast.Constant(name)], [])
            case _:
                pass
    return tree
