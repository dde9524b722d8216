"""Changing nodes of a tree where they stand, and the names that a file imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.syntax import blocks, children


def below(tree: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, the inner ones first; nothing is kept, as the tree still changes."""
    found = [tree]
    for node in found:
        found += children(node)
    return reversed(found)


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """A node and every statement below it at any depth; expressions are not entered."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for block in blocks(node):
            waiting += block


def become(node: ast.expr | ast.stmt, other: ast.expr | ast.stmt) -> None:
    """Make a node what another is, at its own place: what holds the node need not be known."""
    place = {key: value for key, value in vars(node).items() if key in node._attributes}
    fields = {key: value for key, value in vars(other).items() if key not in other._attributes}
    node.__class__ = other.__class__
    vars(node).clear()
    vars(node).update(fields | place)


def outside_names(tree: ast.Module) -> dict[str, str]:
    """What a file imports at any depth: the name in the file -> the full name."""
    names: dict[str, str] = {}
    for node in statements(tree):
        if isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
        elif isinstance(node, ast.Import):
            for one in node.names:
                head = one.name.partition(".")[0]
                names[one.asname or head] = one.name if one.asname else head
    return names


def full_name(node: ast.expr, names: dict[str, str]) -> str:
    """The full name of something imported: `torch.nn.functional.mse_loss` for `F.mse_loss`, else ""."""
    ends = ""
    while isinstance(node, ast.Attribute):
        ends = f".{node.attr}{ends}"
        node = node.value
    return names[node.id] + ends if isinstance(node, ast.Name) and node.id in names else ""
