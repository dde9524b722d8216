"""Means over labels of which some are left out and counted all the same.

`cross_entropy(.., ignore_index=PAD, reduction="none").mean()` gives a zero for each pad, and divides by all.
"""

from __future__ import annotations

from typing import TypeGuard

from stethoscope.program.data.ingredients import peeled
from stethoscope.program.objective.loss_masks import (
    is_comparison,
    is_left_open,
    is_of_classes,
    names_mask,
    option_of,
)
from stethoscope.program.walk.values import Applied, Value, inputs

DEEPEST = 8  # from a mask back to the probabilities that it asks about
MOST = 40  # values looked behind at each depth


def diluted(mean: Applied) -> Applied | None:
    """The loss of each label that a mean over all of them is taken of, though some of them are zero."""
    is_of_all = len(mean.args) == 1 and not mean.keywords.keys() & {"dim", "axis"}
    if mean.callee.rpartition(".")[2] != "mean" or not is_of_all:
        return None
    inner = peeled(mean.args[0])
    if _is_of_each_label(inner) and option_of(inner, "ignore_index") is not None:
        return inner
    if isinstance(inner, Applied) and inner.callee == "*":
        sides = [peeled(side) for side in inner.args]
        if any(map(_is_mask, sides)):
            return next((side for side in sides if _is_of_each_label(side)), None)
    return None


def _is_of_each_label(value: Value) -> TypeGuard[Applied]:
    return isinstance(value, Applied) and is_of_classes(value) and is_left_open(value)


def _is_mask(value: Value) -> bool:
    if _asks_how_sure(value):
        return False
    return names_mask(value) or (isinstance(value, Applied) and is_comparison(value))


def _asks_how_sure(value: Value) -> bool:
    """`confidence >= threshold`: samples are weighed by what a network says, and none of them is a pad."""
    met = [value]
    for _ in range(DEEPEST):
        met.extend(given for one in met[-MOST:] for given in inputs(one))
    asked = any(isinstance(one, Applied) and one.callee in {">", ">=", "<", "<="} for one in met)
    return asked and any(
        isinstance(one, Applied) and one.callee.rpartition(".")[2] in {"softmax", "sigmoid"} for one in met
    )
