"""The passes through networks that a value was computed with, and whether they left a graph."""

from __future__ import annotations

from stethoscope.program.ancestry import ancestry, cuts_gradient
from stethoscope.program.calls import is_model_call
from stethoscope.program.events import Call
from stethoscope.program.gradient_modes import without_gradients
from stethoscope.program.remembered import remembered
from stethoscope.program.trace import Trace
from stethoscope.program.values import Applied, Delayed, Value


def passes(trace: Trace, value: Value | None) -> tuple[Call, ...]:
    """The calls of networks that gradients of a value would go back through.

    None at all where one of them was not met: then nothing can be said of the others either.
    """
    met = _calls_by_place(trace)
    found: list[Call] = []
    for one in ancestry(trace.run, value, cuts_gradient):
        if (
            isinstance(one, Applied | Delayed)
            and not cuts_gradient(one)
            and is_model_call(trace.run.index, one)
        ):
            calls = met.get(id(one.site.node))
            if not calls:
                return ()
            found.extend(calls)
    return tuple(found)


def has_graph(trace: Trace, value: Value | None) -> bool:
    """Whether a value was computed by a network while gradients were recorded."""
    return any(not without_gradients(call) for call in passes(trace, value))


@remembered
def _calls_by_place(trace: Trace) -> dict[int, list[Call]]:
    met: dict[int, list[Call]] = {}
    for event in trace.events:
        if isinstance(event, Call):
            met.setdefault(id(event.site.node), []).append(event)
    return met
