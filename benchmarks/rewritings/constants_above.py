"""Numbers that stand in calls, as constants at the head of the file."""

from __future__ import annotations

import ast


class _Rewriter(ast.NodeTransformer):
    def __init__(self) -> None:
        self.constants: list[ast.stmt] = []

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        for keyword in node.keywords:
            match keyword:
                case ast.keyword(arg=str() as name, value=ast.Constant(value=float() | int() as value)) if (
                    not isinstance(value, bool)
                ):
                    constant = f"{name.upper()}_{len(self.constants)}"
                    self.constants.append(ast.Assign([ast.Name(constant, ast.Store())], keyword.value))
                    keyword.value = ast.Name(constant, ast.Load())
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node


def rewrite(tree: ast.Module) -> ast.Module:
    """Move the numbers given by name above everything else."""
    rewriter = _Rewriter()
    tree = rewriter.visit(tree)
    first = next(
        (
            i
            for i, node in enumerate(tree.body)
            if not isinstance(node, ast.Import | ast.ImportFrom) and not _is_text(node)
        ),
        len(tree.body),
    )
    tree.body[first:first] = rewriter.constants
    return tree


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
