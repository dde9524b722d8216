"""Differences of bytes, which wrap around at zero: 3 - 5 is 254."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.program.evaluation.evaluations import Walk
from stethoscope.program.objective.addends import applied_in
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.events import Assignment, Call, Event
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.values import Applied, Choice, Delayed, FunctionValue, Part, Site, Value

DEPTH = 30
# What leaves the type of a number as it is.
KEEPING = frozenset({
    "[]", "transpose", "permute", "squeeze", "unsqueeze", "copy", "clip", "clamp", "round", "reshape", "view",
    "flatten", "contiguous", "numpy", "cpu", "cuda", "detach", "ascontiguousarray", "asarray", "array",
    "clone", "moveaxis", "swapaxes", "flip", "crop",
})  # fmt: skip
READING = frozenset({"imread"})
BYTES = ("byte", "uint8", *READING)  # without one of these words, nothing is known to hold bytes
CASTING = frozenset({"astype", "to", "type", "view_as"})


def wrapping_differences(walk: Walk) -> Iterator[tuple[Site, Site]]:
    """Where two arrays of bytes are subtracted, and the call or line that leads there."""
    run = walk.trace.run
    if not any(word in source.text for source in run.index.program for word in BYTES):
        return
    run.steps = max(run.steps, STEPS // 4)
    for event in walk.trace.events:
        try:
            for value in _computed(run, event):
                yield from ((site, event.site) for site in _wrapping(run, value))
        except (Exhausted, RecursionError):
            continue


def _computed(run: Execution, event: Event) -> Iterator[Value]:
    """What a call that is given bytes makes, or a line that subtracts."""
    given: tuple[Value | None, ...] = ()
    if isinstance(event, Call) and isinstance(event.callee, FunctionValue):
        if any(_are_bytes(run, arg, DEPTH) for arg in event.args):
            yield Delayed(event.callee, event.args, event.keywords, event.site)
    elif isinstance(event, Call):
        given = event.args
    elif isinstance(event, Assignment):
        given = (event.value,)
    yield from (value for value in given if isinstance(value, Applied) and "-" in value.site.text)


def _wrapping(run: Execution, value: Value) -> Iterator[Site]:
    for one in applied_in(run, value):
        is_difference = one.callee in {"-", ".sub", "numpy.subtract", "torch.sub"} and len(one.args) == 2
        if is_difference and all(_are_bytes(run, arg, DEPTH) for arg in one.args):
            yield one.site


def _are_bytes(run: Execution, value: Value, depth: int) -> bool:
    """Whether an array is known to hold bytes."""
    value = quietly(run, value)
    if depth == 0:
        return False
    if isinstance(value, Choice):
        return all(_are_bytes(run, option, depth - 1) for option in value.options)
    if isinstance(value, Part):
        is_element = isinstance(value.key, int) or value.key == "*"
        return is_element and _are_bytes(run, value.base, depth - 1)
    if not isinstance(value, Applied):
        return False
    last = value.callee.rpartition(".")[2] or value.callee
    if last in {"byte", "uint8"} or last in READING:
        return True
    if last in CASTING:
        arguments = value.site.text.rpartition(f".{last}(")[2]
        return "uint8" in arguments
    return last in KEEPING and bool(value.args) and _are_bytes(run, value.args[0], depth - 1)
