"""Going through syntax trees fast: a large repository has a million nodes, and every fact asks for some."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

# What never holds an expression or statement that anybody asks for.
_LEAVES = frozenset({"ctx", "op", "ops", "id", "attr", "arg", "name", "names", "kind", "lineno", "asname"})

_DEFINITIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef})

# What is asked for again and again, by one fact after the other: their nodes are kept with them.
_KEPT = _DEFINITIONS | {ast.Module}

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


def walk(tree: ast.AST) -> Sequence[ast.AST]:
    """A node and all below it, contexts and operators left out; those of one block come in order."""
    return _kept(tree, "_in_order", _in_order) if tree.__class__ in _KEPT else _in_order(tree)


def all_nodes(tree: ast.AST) -> Sequence[ast.AST]:
    """A node and all below it, the outer ones first, contexts and operators left out."""
    return _kept(tree, "_all_nodes", _outer_first) if tree.__class__ in _KEPT else _outer_first(tree)


def own_nodes(node: FunctionNode) -> Sequence[ast.AST]:
    """The nodes of a function's body, without those of the functions and classes defined inside it."""
    return _kept(node, "_own_nodes", _own)


def _kept(node: ast.AST, name: str, find: Callable[[Any], list[ast.AST]]) -> Sequence[ast.AST]:
    kept: dict[str, list[ast.AST]] = vars(node)
    if name not in kept:
        kept[name] = find(node)
    return kept[name]


def _in_order(tree: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting.extend(reversed(tuple(children(node))))
    return found


def _outer_first(tree: ast.AST) -> list[ast.AST]:
    found = [tree]
    for node in found:  # grows while it is gone through
        found.extend(children(node))
    return found


def _own(node: FunctionNode) -> list[ast.AST]:
    found: list[ast.AST] = []
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        current = waiting.pop()
        found.append(current)
        waiting.extend(child for child in children(current) if child.__class__ not in _DEFINITIONS)
    return found
