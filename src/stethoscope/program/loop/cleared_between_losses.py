"""Gradients of one loss that are cleared before those of the next come: the step knows the last loss alone.

first.backward(retain_graph=True)
optimizer.zero_grad()
second.backward()
optimizer.step()
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stethoscope.program.loop.loop_order import (
    clears,
    go_together,
    last_before,
    moves_between,
    optimizers_of,
    sets_gradients,
)
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.training_loop import Path, TrainingLoop
from stethoscope.program.walk.events import Call

# Gradients that are looked at were wanted, and not for the step.
LOOKED_AT = re.compile(r"\.grad\b|hook\(")
ONLY_TELLING = frozenset({"item", "append", "detach", "float", "print", "cpu", "backward", "zero_grad"})


def cleared_between_losses(loop: TrainingLoop) -> Iterator[tuple[Move, Move, Move]]:
    """Backward passes whose gradients nothing uses, what clears them, and the step of the only optimizer."""
    if sets_gradients(loop) or len(optimizers_of(loop)) != 1:
        return
    sources = {id(event.site.source): event.site.source for event in loop.trace.events}
    if any(LOOKED_AT.search(source.text) for source in sources.values()):
        return
    for path in loop.paths:
        for step in path.of(Kind.STEP, Kind.SCALER_STEP):
            for first, zero in _thrown_away(path, step):
                if (
                    clears(loop, zero, step)
                    and go_together(loop, zero, step)
                    and not _is_used(loop, first, zero)
                ):
                    yield first, zero, step


def _thrown_away(path: Path, step: Move) -> Iterator[tuple[Move, Move]]:
    """The backward passes before the last one of a step, each with what clears its gradients."""
    last = last_before(path, step, Kind.BACKWARD)
    zero = last_before(path, last, Kind.ZERO_GRAD) if last is not None else None
    first = last_before(path, zero, Kind.BACKWARD) if zero is not None else None
    if first is None or zero is None or first.event is step.event:
        return
    if not any(move.updates for move in moves_between(path, first, step)):
        yield first, zero


def _is_used(loop: TrainingLoop, first: Move, zero: Move) -> bool:
    """Whether anything is called between the two that might use the gradients, and does more than tell."""
    place = {id(event): at for at, event in enumerate(loop.trace.events)}
    between = loop.trace.events[place[id(first.event)] + 1 : place[id(zero.event)]]
    return any(isinstance(event, Call) and event.name not in ONLY_TELLING for event in between)
