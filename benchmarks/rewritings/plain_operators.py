"""Operators as others write them: `x = x + y`, `-1.0 * x`, `x.pow(2)`."""

from __future__ import annotations

import ast
import copy


class _Rewriter(ast.NodeTransformer):
    def __init__(self, shared: set[str]) -> None:
        self.shared = shared

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name | ast.Attribute) or ast.unparse(node.target) in self.shared:
            return node  # somebody else may see what is written into
        read = copy.deepcopy(node.target)
        read.ctx = ast.Load()
        return ast.Assign([node.target], ast.BinOp(read, node.op, node.value))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            return ast.BinOp(ast.Constant(-1.0), ast.Mult(), node.operand)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        return node  # an index is no figure

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.BinOp(op=ast.Pow(), left=left, right=ast.Constant(value=2)) if not isinstance(
                left, ast.Constant
            ):
                return (
                    ast.BinOp(left, ast.Mult(), copy.deepcopy(left)) if isinstance(left, ast.Name) else node
                )
        return node


def rewrite(tree: ast.Module) -> ast.Module:
    """Write what is short in full."""
    return _Rewriter(_shared(tree)).visit(tree)


def _shared(tree: ast.Module) -> set[str]:
    """What may be another's tensor or list: parameters, what a loop gives, and other names for something."""
    shared = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    for node in ast.walk(tree):
        match node:
            case ast.For(target=target) | ast.comprehension(target=target):
                shared |= {ast.unparse(one) for one in ast.walk(target) if isinstance(one, ast.Name)}
            case ast.Assign(
                targets=targets, value=ast.Name() | ast.Attribute() | ast.Subscript() | ast.List()
            ):
                shared |= {ast.unparse(target) for target in targets}
            case _:
                pass
    return shared
