"""Optimizers and loaders whose settings are given before what they work on."""

from __future__ import annotations

import ast

MADE = frozenset({"optim", "DataLoader"})


def rewrite(tree: ast.Module) -> ast.Module:
    """Write `partial(torch.optim.Adam, lr=1e-3)(net.parameters())`."""
    found = False
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name() | ast.Attribute() as func, args=[_], keywords=[_, *_] as words) if (
                _is_made(func) and all(word.arg for word in words)
            ):
                found = True
                node.func = ast.Call(ast.Name("partial", ast.Load()), [func], words)
                node.keywords = []
            case _:
                pass
    if found:
        after = [i for i, one in enumerate(tree.body) if isinstance(one, ast.Import | ast.ImportFrom)]
        tree.body.insert(
            after[-1] + 1 if after else 0, ast.ImportFrom("functools", [ast.alias("partial")], 0)
        )
    return tree


def _is_made(func: ast.expr) -> bool:
    match func:
        case ast.Name(id=name):
            return name in MADE
        case ast.Attribute(value=ast.Attribute(attr="optim"), attr=name):
            return name[:1].isupper()
        case ast.Attribute(attr=name):
            return name in MADE
    return False
