"""Accelerate's window of batches, emptied on the batch that updates.

Under `accelerator.accumulate(...)` a prepared optimizer passes over `zero_grad()` until the batch that ends
the window. Before the backward pass it then takes away all that the batches before have gathered.
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.program.loop.loop_order import clears, last_before
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.walk.events import Event
from stethoscope.program.walk.values import Applied, Choice, Constant, Value


def cleared_windows(loop: TrainingLoop) -> Iterator[tuple[Move, Move]]:
    """Each clearing that stands before the backward pass of a window of several batches, and its update."""
    for path in loop.paths:
        for step in path.of(Kind.STEP):
            backward = last_before(path, step, Kind.BACKWARD)
            zero = last_before(path, backward, Kind.ZERO_GRAD) if backward is not None else None
            if zero is None or not clears(loop, zero, step):
                continue
            window = _window(zero.event)
            if window is not None and window is _window(step.event) and _gathers(window):
                yield zero, step


def _window(event: Event) -> Applied | None:
    """What `with accelerator.accumulate(model)` around an event enters."""
    entered = (scope.value for scope in event.scopes() if scope.kind == "with")
    found = (value for value in entered if isinstance(value, Applied) and value.callee == ".accumulate")
    return next(found, None)


def _gathers(window: Applied) -> bool:
    """Whether the Accelerator was told of several batches: by a number, or by a setting there is for it."""
    engine = window.args[0] if window.args else None
    if not isinstance(engine, Applied) or not engine.callee.endswith("Accelerator"):
        return False
    counts = [value for name, value in engine.keywords.items() if "accumulation" in name]
    return any(map(_is_several, counts))


def _is_several(count: Value) -> bool:
    if isinstance(count, Choice):
        return any(map(_is_several, count.options))
    if isinstance(count, Applied):  # GradientAccumulationPlugin(num_steps=4)
        inside = count.keywords.get("num_steps", count.args[0] if count.args else None)
        return inside is None or _is_several(inside)
    return not isinstance(count, Constant) or count.value != 1
