"""Limits on the gradient norm beyond which a training loop leaves its update out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.likenesses import words
from stethoscope.program.loop.moves import Kind
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.walk.events import Jump, Scope
from stethoscope.program.walk.values import Applied, Choice, Constant, Value


@dataclass(frozen=True, slots=True, eq=False)
class NormLimit:
    """A fixed number; the update is left out where the norm of the gradients is above it."""

    scope: Scope
    limit: float


def norm_limits(loop: TrainingLoop) -> Iterator[NormLimit]:
    """`if norm > 10: continue`, or `return` from what steps, and `if norm < 10: optimizer.step()`."""
    stepping = {move.event.within[-1] for move in loop.moves if move.updates and move.event.within}
    for event in loop.events:
        leaves = isinstance(event, Jump) and (
            event.kind == "continue"
            or (event.kind == "return" and bool(event.within) and event.within[-1] in stepping)
        )
        if leaves:
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
    joined = ast.Or if above else ast.And  # what leaves the step out by itself
    for value, node in _parts(scope.value, scope.node, joined) if scope is not None else ():
        yield from _limit(scope, value, node, above)


def _parts(
    value: Value | None, node: ast.AST, joined: type[ast.boolop]
) -> Iterator[tuple[Value | None, ast.AST]]:
    """A condition, and those that are joined in it."""
    yield value, node
    if not isinstance(node, ast.BoolOp) or not isinstance(node.op, joined):
        return
    options = value.options if isinstance(value, Choice) else getattr(value, "args", ())
    for option in options:
        written = next(
            (one for one in node.values if isinstance(option, Applied) and option.site.node is one), None
        )
        if written is not None:
            yield from _parts(option, written, joined)


def _limit(scope: Scope | None, value: Value | None, node: ast.AST, above: bool) -> Iterator[NormLimit]:
    if scope is None or not isinstance(value, Applied) or len(value.args) != 2:
        return
    callee, (left, right) = value.callee, value.args
    if callee not in {">", ">=", "<", "<="} or not isinstance(node, ast.Compare):
        return
    written = [node.left, *node.comparators]
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
