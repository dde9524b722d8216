"""Attributes that the first call sets to a value and later calls add to: running sums and averages.

`if self.mean is None: self.mean = x; else: self.mean = m * self.mean + (1 - m) * x`. A walk stands for the
first round, so it meets the first of the two.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.events import Assignment, Event
from stethoscope.program.walk.values import Site

CUTTING = frozenset({"detach", "item", "data", "float", "cpu", "numpy", "tolist", "detach_"})


def begun_average_of(event: Event) -> tuple[Assignment, ast.expr] | None:
    """The addition of later rounds, as an assignment of what the first one sets, and what it adds."""
    if not isinstance(event, Assignment) or event.operator or not event.within:
        return None
    target = event.target
    if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name):
        return None
    held = ast.unparse(target)
    set_to = ast.unparse(event.site.node) if isinstance(event.site.node, ast.expr) else ""
    nodes = tuple(own_nodes(event.within[-1].node))
    if not _is_begun_once(held, event.site.node, nodes):
        return None
    for place, added in _additions(held, nodes):
        is_same = set_to in {ast.unparse(node) for node in all_nodes(added) if isinstance(node, ast.expr)}
        if is_same and not any(_name(node) in CUTTING for node in all_nodes(added)):
            return replace(event, site=Site(event.site.source, place)), added
    return None


def _is_begun_once(held: str, value: ast.AST, nodes: tuple[ast.AST, ...]) -> bool:
    """Whether the value is set under `if held is None`, or in the other arm of what says it is there."""
    for node in nodes:
        if isinstance(node, ast.If) and held in {
            ast.unparse(one) for one in all_nodes(node.test, ast.Attribute)
        }:
            arms = (*node.body, *node.orelse)
            if any(value is inner for arm in arms for inner in all_nodes(arm)):
                return True
    return False


def _additions(held: str, nodes: tuple[ast.AST, ...]) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Where a sum is given back to what it was made from, and the other part of it."""
    for node in nodes:
        match node:
            case ast.Assign(targets=[target], value=ast.BinOp(left=left, op=ast.Add(), right=right) as value):
                if ast.unparse(target) != held:
                    continue
                if _mentions(left, held) and not _mentions(right, held):
                    yield value, right
                elif _mentions(right, held) and not _mentions(left, held):
                    yield value, left
            case ast.AugAssign(target=target, op=ast.Add(), value=value) if ast.unparse(target) == held:
                yield value, value


def _mentions(node: ast.expr, held: str) -> bool:
    """`held`, `0.9 * held`; what is called or taken of it may be something else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _mentions(node.left, held) or _mentions(node.right, held)
    return ast.unparse(node) == held


def _name(node: ast.AST) -> str:
    return str(getattr(node, "attr", None) or getattr(node, "id", ""))
