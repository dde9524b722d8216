"""What a loss went through between its computation and its backward pass."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.values import Applied, Choice, Value


def scaling(loop: TrainingLoop, loss: Value) -> Iterator[tuple[Value, bool]]:
    """The operations that a loss went through after it was computed, and whether all of it did."""
    waiting = [(loss, True)]
    seen: set[int] = set()
    while waiting:
        found, is_whole = waiting.pop()
        value = quietly(loop.run, found)
        if id(value) in seen:
            continue
        seen.add(id(value))
        yield value, is_whole
        if isinstance(value, Choice):
            waiting.extend((option, is_whole) for option in value.options)
        elif isinstance(value, Applied):
            if value.callee in {"+", "-", "*", "/", "neg"}:
                waiting.extend((arg, is_whole and value.callee not in {"+", "-"}) for arg in value.args)
            elif value.callee in {
                ".mean",
                ".sum",
                ".to",
                ".float",
                ".squeeze",
                ".mul",
                ".div",
                ".div_",
                ".mul_",
            }:
                waiting.append((value.args[0], is_whole))
