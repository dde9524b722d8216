"""`if c: x = a` and `else: x = b` for the expression."""

from __future__ import annotations

import ast
import copy


class _Rewriter(ast.NodeTransformer):
    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        match node:
            case ast.Assign(targets=[ast.Name()], value=ast.IfExp(test=test, body=first, orelse=second)):
                return ast.If(test, [_put(node, first)], [_put(node, second)])
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST | list[ast.stmt]:
        match node:
            case ast.Return(value=ast.IfExp(test=test, body=first, orelse=second)):
                return [ast.If(test, [ast.Return(first)], []), ast.Return(second)]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        for member in node.body:
            if isinstance(member, ast.FunctionDef):
                self.generic_visit(member)
        return node


def _put(node: ast.Assign, value: ast.expr) -> ast.stmt:
    return ast.Assign(copy.deepcopy(node.targets), value)


def rewrite(tree: ast.Module) -> ast.Module:
    """Write a choice between two values as a statement with two branches."""
    return _Rewriter().visit(tree)
