"""Labels that are marked to be ignored and become labels of the first class."""

from __future__ import annotations

import re

from stethoscope.program.data.ingredients import peeled
from stethoscope.program.objective.zeros import is_below_zero, is_zero, is_zeros
from stethoscope.program.walk.values import Applied, Constant, Site, Value

MARKED = re.compile(r"ignor|void|unlabel|invalid|(?<![a-z])pad|255", re.IGNORECASE)


def replaced_mark(target: Value) -> Site | None:
    """Where labels that are marked to be ignored become labels of the first class."""
    target = peeled(target)
    if not isinstance(target, Applied):
        return None
    last = target.callee.rpartition(".")[2]
    match last, target.args:
        case "[]=" | "masked_fill" | "masked_fill_", [_, condition, fill]:
            pass
        case "where", [condition, one, other]:
            fill = one if isinstance(one, Constant) or is_zeros(one) else other
        case "clamp" | "clamp_" | "clamp_min" | "clamp_min_" | "clip" | "relu" | "maximum", _:
            return target.site if _is_lifted(target, last) else None
        case _:
            return None
    is_mark = isinstance(condition, Applied) and condition.callee in {"==", "!=", "<"}
    if not (is_mark and (is_zero(fill) or is_zeros(fill))) or not isinstance(condition, Applied):
        return None
    marks = [arg for arg in condition.args if isinstance(arg, Constant)]
    if MARKED.search(condition.site.text) or any(is_below_zero(mark) for mark in marks):
        return target.site
    return None


def _is_lifted(labels: Applied, how: str) -> bool:
    """Whether labels below zero, which are marks and no classes, become the first class."""
    lowest = labels.keywords.get("min", labels.args[1] if len(labels.args) > 1 else None)
    return how == "relu" or (lowest is not None and is_zero(lowest))
