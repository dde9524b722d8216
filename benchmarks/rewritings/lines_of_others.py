"""A program with more in it: prints, types, checks and docstrings that change nothing."""

from __future__ import annotations

import ast


class _Rewriter(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        if not (
            node.body and isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
        ):
            node.body.insert(0, ast.Expr(ast.Constant("See the notes in the wiki.")))
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name) and not isinstance(node.iter, ast.Call):
            count = ast.Name("index_of_this", ast.Store())
            node.target = ast.Tuple([count, node.target], ast.Store())
            node.iter = ast.Call(ast.Name("enumerate", ast.Load()), [node.iter], [])
        return node


def rewrite(tree: ast.Module) -> ast.Module:
    """Count the rounds of loops that are not counted, and describe the functions."""
    return _Rewriter().visit(tree)
