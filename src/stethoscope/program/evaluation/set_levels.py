"""The objects whose level is set in a training loop: `data.set_level(level)`, `data.level = level`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.evaluation.followed_progress import DIFFICULTY
from stethoscope.program.evaluation.held_out_names import plain_names
from stethoscope.program.evaluation.ramps import given_pairs
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes

# fmt: off
RECORDS = frozenset({
    "meter", "meters", "metric", "metrics", "logger", "log", "logs", "bar", "pbar", "history", "stats",
    "writer", "results", "scores", "losses", "progress",
})
# fmt: on


def set_on(node: ast.AST) -> tuple[ast.expr | None, list[ast.expr]]:
    """The object that something is set on, and what: `data.set_level(level)`, `data.level = level`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        named = set(words(node.func.attr))
        if named & {"set", "update", "ramp", "difficulty", "curriculum"} or DIFFICULTY.search(node.func.attr):
            return node.func.value, [*node.args, *(keyword.value for keyword in node.keywords)]
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
        return node.targets[0].value, [node.value]
    return None, []


def kept_under(nodes: list[ast.AST], ramp: ast.expr) -> Iterator[str]:
    """The variables that a ramp is kept under."""
    for node in nodes:
        for target, value in given_pairs(node):
            if isinstance(target, ast.Name) and any(inner is ramp for inner in all_nodes(value)):
                yield target.id


def keeps_records(receiver: ast.expr) -> bool:
    """`val_meter.update(...)` is told what was measured, and is no data."""
    return any(RECORDS & set(words(name)) for name in plain_names(receiver))


def is_set_otherwise(nodes: list[ast.AST], receiver: ast.expr, besides: ast.AST) -> bool:
    """Whether the same object is set to something else too, as before it is measured."""
    text = ast.unparse(receiver)
    for node in nodes:
        other, _ = set_on(node)
        if node is not besides and other is not None and ast.unparse(other) == text:
            return True
    return False
