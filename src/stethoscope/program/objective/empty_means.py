"""Means over a mask that nothing keeps from being empty: `(loss * mask).sum() / mask.sum()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import FunctionNode, all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

MASKS = frozenset(
    {"mask", "masks", "masked", "valid", "keep", "kept", "positives", "pos", "foreground", "fg"}
)
GUARDING = frozenset(
    {"clamp", "clamp_min", "clamp_", "max", "maximum", "where", "clip", "nan_to_num", "isfinite"}
)


def empty_means(index: Index) -> Iterator[tuple[Source, ast.BinOp]]:
    """The divisions by the sum of a mask that have no guard in their function."""
    for function in index.functions:
        if is_test(function.source) or _is_guarded(function.node):
            continue
        for node in own_nodes(function.node):
            match node:
                case ast.BinOp(op=ast.Div(), left=left, right=right) if _is_count(right) and _is_sum(left):
                    yield function.source, node


def _is_count(node: ast.expr) -> bool:
    """`mask.sum()`."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr="sum")):
            return bool(MASKS & set(words(name)))
    return False


def _is_sum(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and bare_name(node) == "sum"


def _is_guarded(function: FunctionNode) -> bool:
    """Whether a function asks for emptiness: by a smallest count or a condition on the mask."""
    for node in all_nodes(function):
        match node:
            case ast.Call() if bare_name(node) in GUARDING:
                return True
            case ast.If(test=test) | ast.IfExp(test=test) if _speaks_of_mask(test):
                return True
    return False


def _speaks_of_mask(test: ast.expr) -> bool:
    names = {getattr(one, "id", getattr(one, "attr", "")) for one in all_nodes(test)}
    return any(MASKS & set(words(str(name))) for name in names)
