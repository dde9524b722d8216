"""Operators as others write them: `x = x + y`, `-1.0 * x`, `x.pow(2)`."""

from __future__ import annotations

import ast
import copy


class _Rewriter(ast.NodeTransformer):
    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name | ast.Attribute):
            return node
        read = copy.deepcopy(node.target)
        read.ctx = ast.Load()
        return ast.Assign([node.target], ast.BinOp(read, node.op, node.value))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        if isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            return ast.BinOp(ast.Constant(-1.0), ast.Mult(), node.operand)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:  # noqa: N802
        return node  # an index is no figure

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        match node:
            case ast.BinOp(op=ast.Pow(), left=left, right=ast.Constant(value=2)) if not isinstance(left, ast.Constant):
                return ast.BinOp(left, ast.Mult(), copy.deepcopy(left)) if isinstance(left, ast.Name) else node
        return node


def rewrite(tree: ast.Module) -> ast.Module:
    """Write what is short in full."""
    return _Rewriter().visit(tree)
