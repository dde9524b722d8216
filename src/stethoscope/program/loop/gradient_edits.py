"""Gradients that are changed by hand: clipped by their norm, or freed of the loss scale.

`g.mul_(limit / norm)` and `p.grad *= factor` are a clip where the factor was made from a norm of gradients,
and an unscaling where it was made from the scale.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.walk.ancestry import ancestry
from stethoscope.program.walk.events import Assignment, Call
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Applied, Choice, Constant, Items, Part, Value

IN_PLACE = frozenset({"mul_", "div_", "copy_"})
NORMS = frozenset(
    {"norm", "vector_norm", "get_total_norm", "matrix_norm", "_foreach_norm", "clip_grad_norm_"}
)
DEPTH = 6


def changed_by(run: Execution, event: Call | Assignment) -> str:
    """ "clip" or "unscale", where an event changes gradients in that way; "" for everything else."""
    given = _factor(run, event)
    if given is None or isinstance(given, Constant):
        return ""
    names = set(_callees(run, given))
    if "get_scale" in names or "_scale" in names:
        return "unscale"
    return "clip" if names & NORMS else ""


def _factor(run: Execution, event: Call | Assignment) -> Value | None:
    """What gradients are multiplied with or divided by."""
    if isinstance(event, Call):
        is_listed = event.name in {"_foreach_mul_", "_foreach_div_"} and len(event.args) > 1
        if is_listed and _is_gradient(run, event.args[0]):
            return event.args[1]
        if event.name in IN_PLACE and event.args and _is_gradient(run, event.receiver):
            return event.args[0]
        return None
    target = event.target
    is_grad = isinstance(target, ast.Attribute) and target.attr == "grad"
    if not is_grad:
        return None
    is_scaled = isinstance(event.value, Applied) and event.value.callee in {"*", "/"}
    return event.value if event.operator in {"*", "/"} or is_scaled else None


def _is_gradient(run: Execution, value: Value | None, depth: int = DEPTH) -> bool:
    """`p.grad`, `p.grad.data`, and the elements of a list of them."""
    if value is None or depth == 0:
        return False
    match value:
        case Part(key="grad"):
            return True
        case Part(base=base, key="data" | "*" | int()):
            return _is_gradient(run, base, depth - 1)
        case Applied(callee=".detach", args=(base, *_)):
            return _is_gradient(run, base, depth - 1)
        case Items(items=items):
            return bool(items) and all(_is_gradient(run, item, depth - 1) for item in items)
        case Choice(options=options):
            return all(_is_gradient(run, option, depth - 1) for option in options)
    return False


def _callees(run: Execution, value: Value) -> Iterator[str]:
    for one in ancestry(run, value):
        if isinstance(one, Applied):
            yield one.callee.rpartition(".")[2]
        elif isinstance(one, Part) and isinstance(one.key, str):
            yield one.key
