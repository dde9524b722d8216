"""Batches whose gradients are cleared before any update could use them.

for batch in loader:                 for i, batch in enumerate(loader):
    optimizer.zero_grad()                optimizer.zero_grad()
    loss(batch).backward()               (loss(batch) / k).backward()
optimizer.step()                         if (i + 1) % k == 0: optimizer.step()
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.loop.loop_order import clears, questions, sets_gradients
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Scope


@dataclass(frozen=True, slots=True, eq=False)
class ForgottenBatches:
    """What clears the gradients with every batch, what makes them, and the update that comes later."""

    zero: Move
    backward: Move
    step: Move


def forgotten_batches(loop: TrainingLoop) -> Iterator[ForgottenBatches]:
    """Each update that is left with the gradients of the last of several batches."""
    if sets_gradients(loop):
        return
    backwards = loop.of(Kind.BACKWARD)
    for step in loop.of(Kind.STEP, Kind.SCALER_STEP):
        if len(backwards) != 1 or _shares_its_batch(loop, backwards[0], step):
            continue
        for zero in loop.of(Kind.ZERO_GRAD):
            if clears(loop, zero, step) and _goes_with(loop, zero, backwards[0]):
                yield ForgottenBatches(zero, backwards[0], step)
                return


def _shares_its_batch(loop: TrainingLoop, backward: Move, step: Move) -> bool:
    """Whether the update follows every backward pass: in the same loop, and not only on every k-th round."""
    if _innermost(backward) is not _innermost(step):
        return loop.micro is None or loop.micro in step.event.scopes()
    return not any(_counts_rounds(scope) for scope in _conditions(step, backward))


def _goes_with(loop: TrainingLoop, zero: Move, backward: Move) -> bool:
    """Whether the gradients are cleared in every round that makes new ones."""
    together = questions(loop, zero.event) <= questions(loop, backward.event)
    return together and _innermost(zero) is _innermost(backward)


def _innermost(move: Move) -> Scope | None:
    return next((scope for scope in move.event.scopes() if scope.kind == "loop"), None)


def _conditions(step: Move, backward: Move) -> Iterator[Scope]:
    """The conditions that an update is under and the backward pass is not."""
    around = {id(scope.node) for scope in backward.event.scopes()}
    for scope in step.event.scopes():
        if scope.kind == "loop":
            return
        if scope.kind == "if" and id(scope.node) not in around:
            yield scope


def _counts_rounds(scope: Scope) -> bool:
    """`(i + 1) % k == 0`, and not a remainder that is one in every round because k is 1."""
    test = scope.node.test if isinstance(scope.node, ast.If) else scope.node
    return scope.arm and any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mod)
        and not (isinstance(node.right, ast.Constant) and node.right.value == 1)
        for node in all_nodes(test)
    )
