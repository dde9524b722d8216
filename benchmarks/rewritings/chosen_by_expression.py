"""`x = a if c else b` for the statement, and early returns for `else`."""

from __future__ import annotations

import ast


class _Rewriter(ast.NodeTransformer):
    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.If(
                body=[ast.Assign(targets=[ast.Name(id=one)], value=first)],
                orelse=[ast.Assign(targets=[ast.Name(id=other)], value=second)],
            ) if one == other:
                return ast.Assign([ast.Name(one, ast.Store())], ast.IfExp(node.test, first, second))
            case ast.If(
                body=[ast.Return(value=ast.expr() as first)], orelse=[ast.Return(value=ast.expr() as second)]
            ):
                return ast.Return(ast.IfExp(node.test, first, second))
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        match node.body:
            case [*_, ast.If(body=[*_, ast.Return()], orelse=[_, *_] as orelse) as last]:
                last.orelse = []
                node.body += orelse
        return node


def rewrite(tree: ast.Module) -> ast.Module:
    """Write a choice between two values as an expression, and leave a function where it is done."""
    return _Rewriter().visit(tree)
