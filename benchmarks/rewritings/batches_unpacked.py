"""Batches that a loop takes apart in its first line: `for pair in loader: x, y = pair`."""

from __future__ import annotations

import ast

WHOLE = "drawn"


def rewrite(tree: ast.Module) -> ast.Module:
    """Draw batches whole where a loop unpacks what it goes through by itself."""
    for node in ast.walk(tree):
        match node:
            case ast.For(target=ast.Tuple() as target, iter=ast.Name() | ast.Attribute(), body=body):
                node.body = [ast.Assign([target], ast.Name(WHOLE, ast.Load())), *body]
                node.target = ast.Name(WHOLE, ast.Store())
            case _:
                pass
    return tree
