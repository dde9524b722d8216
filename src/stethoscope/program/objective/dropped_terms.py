"""Sums of a loss and another term that nobody keeps: `loss + 0.1 * aux` as a statement of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.index import Index, dotted
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.values import Site


def dropped_sums(index: Index) -> Iterator[tuple[Site, Site]]:
    """Each sum that is computed from a loss and thrown away, with the backward pass of that loss."""
    for source in index.program.sources:
        if "backward" not in source.text:
            continue
        nodes = list(all_nodes(source.tree))
        backward = {name: node for node in nodes if (name := minimised_name(node)) is not None}
        for node in nodes if backward else ():
            match node:
                case ast.Expr(value=ast.BinOp(left=ast.Name(id=name), op=ast.Add())) if name in backward:
                    yield Site(source, node.value), Site(source, backward[name])


def minimised_name(node: ast.AST) -> str | None:
    """The name whose backward pass this is: `loss.backward()`, `accelerator.backward(loss)`."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return None
    if node.func.attr not in {"backward", "manual_backward"}:
        return None
    held = node.args[0] if node.args else node.func.value
    return dotted(held)
