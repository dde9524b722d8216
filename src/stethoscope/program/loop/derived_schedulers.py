"""Schedulers of a program's own that derive from one of a library and only fill it.

class WarmCosine(LambdaLR):
    def __init__(self, optimizer, warm, total):
        super().__init__(optimizer, lambda step: ...)
"""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.loop.library_courses import ARGUMENTS
from stethoscope.program.loop.roles import Role, derived_role
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.trace import Trace
from stethoscope.program.walk.values import Applied, FunctionValue, Instance, SuperValue, Value

OF_LIBRARY = frozenset({*ARGUMENTS, "LambdaLR", "SequentialLR", "MultiStepLR"})


@dataclass(frozen=True, slots=True)
class _Base:
    """The class of a library that a scheduler derives from, in full and alone."""

    full: str
    last: str


def as_of_library(trace: Trace, made: Value) -> Value:
    """The library's scheduler that an object of the program is, or the object itself."""
    if not isinstance(made, Instance) or derived_role(trace.run.index, made.cls) is not Role.SCHEDULER:
        return made
    base = _base(trace, made)
    overrides = any(trace.run.index.method(made.cls, name) for name in ("get_lr", "step"))
    filled = _filled(trace, made) if base is not None and not overrides else None
    if base is None or filled is None:
        return made
    return Applied(base.full, filled.args, filled.keywords, filled.site)


def _base(trace: Trace, made: Instance) -> _Base | None:
    names = ((full, full.rpartition(".")[2]) for full in trace.run.index.outside_bases(made.cls))
    return next((_Base(full, last) for full, last in names if last in OF_LIBRARY), None)


def _filled(trace: Trace, made: Instance) -> Call | None:
    """`super().__init__(optimizer, ...)` of one object."""
    for event in trace.events:
        if not isinstance(event, Call) or event.name != "__init__" or isinstance(event.callee, FunctionValue):
            continue
        if isinstance(event.receiver, SuperValue) and event.receiver.instance is made:
            return event if event.arguments_known else None
    return None
