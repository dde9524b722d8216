"""Weights that each round of training rounds to half precision in place, without a copy that keeps the rest.

for weight in model.parameters():
    weight.data = weight.data.bfloat16().float()
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import dotted
from stethoscope.program.loop.loop_order import questions
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.precision.autocast import HALVES, DType, named_dtype
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Assignment, Call, Event
from stethoscope.program.walk.values import Constant, Site

VISITING = frozenset({"parameters", "named_parameters", "trainable_parameters", "params", "param_groups"})
CASTS = {"half": DType.FLOAT16, "bfloat16": DType.BFLOAT16}
UNCHANGED = frozenset({"data", "detach", "clone", "contiguous"})  # a weight itself, or all of its values


@dataclass(frozen=True, slots=True)
class RoundedWeights:
    """Where weights are rounded, and to which type."""

    site: Site
    dtype: DType


def rounded_weights(loop: TrainingLoop) -> Iterator[RoundedWeights]:
    """Every place at which each update of a loop leaves its weights rounded."""
    updates = [move for move in loop.moves if move.updates]
    if not updates:
        return
    asked = questions(loop, updates[0].event)
    for event in loop.events:
        written = _written(event)
        if written is None or not questions(loop, event) <= asked or not _is_over_weights(event, written[0]):
            continue
        dtype = _rounded(written[1], written[0])
        if dtype is not None:
            yield RoundedWeights(event.site, dtype)


def _written(event: Event) -> tuple[str, ast.expr] | None:
    """The name of what is written in place, and what is written: `w.data = ...`, `w.copy_(...)`."""
    node = event.site.node
    if isinstance(event, Assignment) and not event.operator and isinstance(event.target, ast.Attribute):
        is_data = event.target.attr == "data" and isinstance(node, ast.expr)
        root = _root(event.target) if is_data else None
        return (root, node) if root is not None and isinstance(node, ast.expr) else None
    if (
        not isinstance(event, Call)
        or event.name != "copy_"
        or not isinstance(node, ast.Call)
        or not node.args
    ):
        return None
    root = _root(node.func.value) if isinstance(node.func, ast.Attribute) else None
    return (root, node.args[0]) if root is not None else None


def _root(node: ast.expr) -> str | None:
    """The name of a weight behind `.data`, `.detach()` and the like; none where it is a part of something."""
    while True:
        match node:
            case ast.Name(id=name):
                return name
            case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr in UNCHANGED:
                node = inner
            case ast.Attribute(value=inner, attr=attr) if attr in UNCHANGED:
                node = inner
            case _:
                return None


def _is_over_weights(event: Event, name: str) -> bool:
    """Whether a loop gives the name to one weight after the other."""
    for scope in event.scopes():
        node = scope.node
        if scope.kind == "loop" and isinstance(node, ast.For):
            stored = {one.id for one in all_nodes(node.target, ast.Name)}
            if name in stored:
                attributes = {one.attr for one in all_nodes(node.iter, ast.Attribute)}
                keys = {one.value for one in all_nodes(node.iter, ast.Constant)}
                return bool((attributes | keys) & VISITING)
    return False


def _rounded(value: ast.expr, name: str) -> DType | None:
    """The half type that the weight goes through on its way back to itself."""
    for node in all_nodes(value):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if _root(node.func.value) != name:
            continue
        if node.func.attr in CASTS:
            return CASTS[node.func.attr]
        if node.func.attr in {"to", "type"}:
            given = [*node.args, *(word.value for word in node.keywords)]
            named = [named_dtype(Constant((dotted(one) or "").rpartition(".")[2])) for one in given]
            found = next((dtype for dtype in named if dtype in HALVES), None)
            if found is not None:
                return found
    return None
