"""A file as its author wrote it: with the names that facts otherwise look through."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache

from stethoscope.program.syntax import FunctionNode, all_nodes
from stethoscope.run import Source

KEPT = 64  # files whose trees are kept


@lru_cache(maxsize=KEPT)
def unsettled(source: Source) -> ast.Module:
    """The tree of a file before its spelling was settled."""
    return ast.parse(source.text)


def unsettled_body(source: Source, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Sequence[ast.stmt]:
    """The statements of a function as they are written; those of a file's top level for its script."""
    tree = unsettled(source)
    if node.name == "<script>":
        return [one for one in tree.body if not isinstance(one, FunctionNode | ast.ClassDef)]
    functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = [*all_nodes(tree, ast.FunctionDef)]
    functions.extend(all_nodes(tree, ast.AsyncFunctionDef))
    for one in functions:
        if one.name == node.name and one.lineno == node.lineno:
            return one.body
    return node.body
