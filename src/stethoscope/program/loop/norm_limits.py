"""Limits on the gradient norm beyond which a training loop leaves its update out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.likenesses import words
from stethoscope.program.loop.moves import Kind
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.walk.events import Jump, Scope
from stethoscope.program.walk.values import Applied, Constant, Value


@dataclass(frozen=True, slots=True, eq=False)
class NormLimit:
    """A fixed number; the update is left out where the norm of the gradients is above it."""

    scope: Scope
    limit: float


def norm_limits(loop: TrainingLoop) -> Iterator[NormLimit]:
    """`if norm > 10: continue`, and `if norm < 10: optimizer.step()`."""
    for event in loop.events:
        if isinstance(event, Jump) and event.kind == "continue":
            asked = next((scope for scope in event.scopes() if scope.kind == "if"), None)
            yield from _limits(asked, above=True)
    for move in loop.moves:
        if move.kind in {Kind.STEP, Kind.SCALER_STEP}:
            for scope in move.event.scopes():
                if scope is loop.body:
                    break
                yield from _limits(scope if scope.kind == "if" else None, above=False)


def _limits(scope: Scope | None, above: bool) -> Iterator[NormLimit]:
    """The limit that a condition asks for; the arm that was gone says which way."""
    if scope is None or not isinstance(scope.value, Applied) or len(scope.value.args) != 2:
        return
    callee, (left, right) = scope.value.callee, scope.value.args
    if callee not in {">", ">=", "<", "<="} or not isinstance(scope.node, ast.Compare):
        return
    written = [scope.node.left, *scope.node.comparators]
    is_norm = [_is_norm(node) for node in written]
    limit = _number(right if is_norm[0] else left)
    if is_norm.count(True) != 1 or limit is None:
        return
    asks_above = (callee in {">", ">="}) is is_norm[0]
    if (asks_above is scope.arm) is above:
        yield NormLimit(scope, limit)


def _is_norm(node: ast.expr) -> bool:
    names = {getattr(one, "id", getattr(one, "attr", "")) for one in ast.walk(node)}
    spoken = {word for name in names for word in words(str(name))}
    return bool(spoken & {"norm", "gnorm", "gradnorm"})


def _number(value: Value) -> float | None:
    known = value.value if isinstance(value, Constant) else None
    return float(known) if isinstance(known, int | float) and not isinstance(known, bool) else None
