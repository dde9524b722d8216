"""Noise levels with one number for each sample that meet data of more axes without being shaped for it.

`abar[t] * x` with steps `t` of shape (B,) and images (B, C, H, W) counts the levels along the last axis:
every column of a picture gets the level of another sample. It runs where the batch is as large as the
picture is wide, and fails elsewhere. The axes of the data are those that the network's convolutions need.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.data.ingredients import ingredients, is_drawn
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import (
    Applied,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    Outside,
    Site,
    Value,
)

DRAWING_STEPS = frozenset({"randint", "rand"})
CONVOLUTIONS = frozenset({"Conv1d", "Conv2d", "Conv3d", "conv1d", "conv2d", "conv3d"})
# Arithmetic that leaves a row of levels a row.
KEEPING = frozenset({
    "sqrt", "exp", "log", "cos", "sin", "abs", "float", "to", "clamp", "square", "rsqrt", "neg", "pow",
})  # fmt: skip
BETWEEN = frozenset({"+", "-", "*", "/", "**"})
DEPTH = 8


@dataclass(frozen=True, slots=True, eq=False)
class FlatLevel:
    """A product of a row of levels with data of more axes, and where the levels are drawn."""

    product: Site
    drawn: Site


def flat_levels(
    run: Execution, call: Applied | Delayed, noisy: Value, told: Sequence[Value]
) -> Iterator[FlatLevel]:
    """The rows of levels that multiply what a network with convolutions gets, and that it is told of."""
    if not told or not _has_convolutions(run, call):
        return
    levels = {id(one) for value in told for one in ingredients(run, value)}
    for value in ingredients(run, noisy):
        if not (isinstance(value, Applied) and value.callee == "*" and len(value.args) == 2):
            continue
        for level, other in (value.args, value.args[::-1]):
            drawn = _row(level, DEPTH)
            if drawn is not None and id(drawn) in levels and _is_batch(other):
                yield FlatLevel(value.site, drawn.site)


def _has_convolutions(run: Execution, call: Applied | Delayed) -> bool:
    match call:
        case Delayed(callee=FunctionValue(bound=Instance(cls=cls))):
            texts = (node for one in run.index.lineage(cls) for node in all_nodes(one.node))
            return any(getattr(node, "attr", getattr(node, "id", "")) in CONVOLUTIONS for node in texts)
    return False


def _row(value: Value, depth: int) -> Applied | None:
    """The draw of a level of one axis that a value is computed from, element by element."""
    if depth == 0 or not isinstance(value, Applied):
        return None
    last = value.callee.rpartition(".")[2]
    if last in DRAWING_STEPS and _is_of_one_axis(value):
        return value
    if last == "[]" and len(value.args) == 2:
        return _row(value.args[1], depth - 1)  # a table of levels at the steps
    if last in KEEPING and value.args:
        return _row(value.args[0], depth - 1)
    if value.callee in BETWEEN and len(value.args) == 2:
        sides = [_row(arg, depth - 1) for arg in value.args]
        is_row = all(side or isinstance(arg, Constant) for side, arg in zip(sides, value.args, strict=True))
        return next((side for side in sides if side is not None), None) if is_row else None
    return None


def _is_of_one_axis(drawn: Applied) -> bool:
    """`randint(0, T, (len(x),))`: the shape is written with one size."""
    match drawn.site.node:
        case ast.Call(args=args, keywords=keywords):
            shapes = [word.value for word in keywords if word.arg == "size"] or args[-1:]
            return any(isinstance(shape, ast.Tuple | ast.List) and len(shape.elts) == 1 for shape in shapes)
    return False


def _is_batch(value: Value) -> bool:
    """Whether a factor is a batch, or noise like one: no number, no list, no row of its own."""
    if isinstance(value, Constant | Items | Outside) or _row(value, DEPTH) is not None:
        return False
    return not (isinstance(value, Applied) and is_drawn(value) and not value.callee.endswith("_like"))
