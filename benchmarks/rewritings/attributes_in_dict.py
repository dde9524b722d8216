"""What an object keeps of its own, in one table: `self.kept["net"]` for `self.net`."""

from __future__ import annotations

import ast

from rewritings.renamed_attributes import own_attributes


def rewrite(tree: ast.Module) -> ast.Module:
    """Put the attributes that a class without bases gives itself, and nobody else reads, into a table."""
    names = own_attributes(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and not node.bases:
            begin = next(
                (one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"),
                None,
            )
            if begin is not None and any(_is_own(one, names) for one in ast.walk(node)):
                table = ast.Attribute(ast.Name("self", ast.Load()), "kept", ast.Store())
                node.body = [_Put(names).visit(one) for one in node.body]
                begin.body.insert(0, ast.Assign([table], ast.Dict([], [])))
    return tree


def _is_own(node: ast.AST, names: set[str]) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr in names
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )


class _Put(ast.NodeTransformer):
    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if not _is_own(node, self.names):
            return node
        table = ast.Attribute(ast.Name("self", ast.Load()), "kept", ast.Load())
        return ast.Subscript(table, ast.Constant(node.attr), node.ctx)
