"""Rounds that a rank leaves out because of what is in its own batch, while the others go on."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.ranks.decisions import Decisions, Ranks
from stethoscope.program.walk.ancestry import MOST_VALUES
from stethoscope.program.walk.events import Jump, Scope
from stethoscope.program.walk.network_passes import is_model_call
from stethoscope.program.walk.values import Applied, Part, Value, inputs

SIZES = frozenset({"len", ".size", ".numel", ".dim"})


def skipped_batches(ranks: Ranks) -> Iterator[tuple[Move, Scope]]:
    """The first backward pass behind each `continue` that asks about the batch of this rank."""
    decisions = Decisions(ranks)
    walk = ranks.walk
    for jump in walk.trace.events:
        if not isinstance(jump, Jump) or jump.kind != "continue" or jump.leaves is None:
            continue
        asked = next((scope for scope in jump.scopes() if scope.kind == "if"), None)
        if asked is None or ranks.is_shared(asked.value) or not _asks_of_batch(ranks, decisions, asked):
            continue
        for move in walk.moves:
            is_behind = walk.place(jump) < walk.place(move.event)
            is_inside = any(scope is jump.leaves for scope in move.event.scopes())
            if move.kind is Kind.BACKWARD and is_behind and is_inside:
                yield move, asked
                break


def _asks_of_batch(ranks: Ranks, decisions: Decisions, scope: Scope) -> bool:
    """Whether a condition looks at what a batch holds, of data that each rank has its own part of."""
    waiting = [scope.value] if scope.value is not None else []
    seen: set[int] = set()
    while waiting and len(seen) < MOST_VALUES:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if is_model_call(ranks.walk.trace.run.index, value):
            return False  # a loss or an output is another matter
        if _is_size(value):
            continue
        if isinstance(value, Part) and value.key == "*":
            if decisions.is_of_own_part(value):
                return True
            continue
        waiting.extend(inputs(value))
    return False


def _is_size(value: Value) -> bool:
    if isinstance(value, Part):
        return value.key in {"shape", "ndim"}
    return isinstance(value, Applied) and value.callee in SIZES
