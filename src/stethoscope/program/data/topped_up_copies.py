"""Rows of measurements that are topped up with copies of one of them, each with noise of its own.

`while len(shots) < count: shots.append(shots[-1] + noise)` passes copies off as measurements. A row that
starts from one written element and grows this way is a random walk, and a row of samples is augmented.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.data.made_channels import DRAWS, MadeChannels
from stethoscope.program.data.noisy_copies import JOINS, SAMPLING_WORDS
from stethoscope.program.data.sample_functions import sample_functions
from stethoscope.program.index import Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.values import Site

WALKING = frozenset({"path", "paths", "walk", "walks", "trajectory", "track", "positions", "states", "steps"})


@remembered
def topped_up_copies(index: Index) -> tuple[MadeChannels, ...]:
    """Every row of one sample that is topped up with noisy copies and joined."""
    makers = (one for one in sample_functions(index) if any(draw in one.source.text for draw in DRAWS))
    return tuple(found for function in makers for found in _in_function(function))


def _in_function(function: Function) -> Iterator[MadeChannels]:
    nodes = list(own_nodes(function.node))
    for loop in nodes:
        if not isinstance(loop, ast.While):
            continue
        for node in all_nodes(loop):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=row), attr="append"), args=[copy]):
                    if (
                        not (SAMPLING_WORDS | WALKING) & set(words(row))
                        and f"len({row})" in ast.unparse(loop.test)
                        and _is_noisy_copy(copy, row)
                        and _is_measured(nodes, row)
                        and _is_joined(nodes, row)
                    ):
                        yield MadeChannels(Site(function.source, node), Site(function.source, copy))


def _is_noisy_copy(copy: ast.expr, row: str) -> bool:
    """`row[-1] + 0.01 * randn_like(row[-1])`."""
    match copy:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return any(_is_element(a, row) and _draws(b) for a, b in ((left, right), (right, left)))
    return False


def _is_element(node: ast.expr, row: str) -> bool:
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant() | ast.UnaryOp()):
            return name == row
    return False


def _draws(noise: ast.expr) -> bool:
    return any(isinstance(node, ast.Call) and bare_name(node) in DRAWS for node in all_nodes(noise))


def _is_measured(nodes: list[ast.AST], row: str) -> bool:
    """Whether a row is read, made by a call or gathered, and does not start from one written element."""
    given = [
        node.value
        for node in nodes
        if isinstance(node, ast.Assign)
        if any(isinstance(target, ast.Name) and target.id == row for target in node.targets)
    ]
    return bool(given) and all(isinstance(value, ast.Call | ast.ListComp) for value in given)


def _is_joined(nodes: list[ast.AST], row: str) -> bool:
    return any(
        isinstance(node, ast.Call)
        and bare_name(node) in JOINS
        and bool(node.args)
        and isinstance(node.args[0], ast.Name)
        and node.args[0].id == row
        for node in nodes
    )
