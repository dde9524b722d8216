"""What only some rounds of a loop do, behind a `continue` of the others."""

from __future__ import annotations

import ast


def rewrite(tree: ast.Module) -> ast.Module:
    """Write `if not a: continue` before the rest of a loop that ends with `if a: ...`."""
    for node in ast.walk(tree):
        match node:
            case (
                ast.For(body=[*before, ast.If(test=test, body=body, orelse=[])])
                | ast.While(body=[*before, ast.If(test=test, body=body, orelse=[])])
            ):
                leave = ast.If(ast.UnaryOp(ast.Not(), test), [ast.Continue()], [])
                node.body = [*before, leave, *body]
            case _:
                pass
    return tree
