"""Going through syntax trees fast: a large repository has a million nodes, and every fact asks for some."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator

# What never holds an expression or statement that anybody asks for.
_LEAVES = frozenset({"ctx", "op", "ops", "id", "attr", "arg", "name", "names", "kind", "lineno", "asname"})

_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def _fields() -> dict[type[ast.AST], tuple[str, ...]]:
    """The fields of each kind of node that hold other nodes."""
    kinds = (kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST))
    found = {kind: tuple(name for name in kind._fields if name not in _LEAVES) for kind in kinds}
    # Here names that are texts elsewhere hold nodes.
    found[ast.Import] = found[ast.ImportFrom] = ("names",)
    found[ast.Constant] = ()
    return found


_FIELDS = _fields()


def children(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes directly below a node; contexts and operators are left out."""
    for name in _FIELDS[node.__class__]:
        value = getattr(node, name, None)
        if value.__class__ is list:
            for child in value:
                if isinstance(child, ast.AST):
                    yield child
        elif isinstance(value, ast.AST):
            yield value


def definitions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """The functions and classes below a node at any depth; no expression is entered."""
    waiting = deque([tree])
    while waiting:
        node = waiting.popleft()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node
        for block in _BLOCKS:
            if node.__class__ is not ast.Lambda:  # its body is an expression
                waiting.extend(getattr(node, block, ()))


def walk(tree: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, contexts and operators left out; those of one block come in order."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(tuple(children(node))))
