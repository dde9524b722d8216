"""Counted rounds as a `while` that counts by hand."""

from __future__ import annotations

import ast


def rewrite(tree: ast.Module) -> ast.Module:
    """Write `i = 0` and `while i < n` for `for i in range(n)`, where no round is left early."""
    _Rewriter().visit(tree)
    return tree


class _Rewriter(ast.NodeTransformer):
    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        match node:
            case ast.For(
                target=ast.Name(id=name),
                iter=ast.Call(func=ast.Name(id="range"), args=[end], keywords=[]),
                orelse=[],
            ) if not _is_odd(node, name):
                begin = ast.Assign([ast.Name(name, ast.Store())], ast.Constant(0))
                count = ast.AugAssign(ast.Name(name, ast.Store()), ast.Add(), ast.Constant(1))
                test = ast.Compare(ast.Name(name, ast.Load()), [ast.Lt()], [end])
                return [begin, ast.While(test, [*node.body, count], [])]
        return node


def _is_odd(loop: ast.For, name: str) -> bool:
    """Whether a round may be left early, or changes what is counted."""
    stored = {one.id for part in loop.body for one in ast.walk(part) if _is_stored(one)}
    read = {one.id for one in ast.walk(loop.iter) if isinstance(one, ast.Name)}
    leaves = any(isinstance(one, ast.Continue | ast.Break) for part in loop.body for one in ast.walk(part))
    return leaves or name == "_" or name in stored or bool(read & stored)


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
