"""Where the order of two events is written: in the function that leads to both.

`self.zero_grad()` and `self.step()` in one method are what a reader would exchange, and not the lines inside
the two that do the work.
"""

from __future__ import annotations

from stethoscope.program.walk.events import Call, Event, Scope
from stethoscope.program.walk.trace import Trace
from stethoscope.program.walk.values import FunctionValue, Site
from stethoscope.run import Where


def places_of(trace: Trace, first: Event, second: Event) -> tuple[Where, ...]:
    """The places to name for the order of two events: where they meet, and where they happen."""
    around = {id(scope) for scope in second.scopes()}
    shared = next((s for s in first.scopes() if s.kind == "call" and id(s) in around), None)
    met = (_entered_at(trace, one, shared).where for one in (first, second))
    return tuple(dict.fromkeys((*met, first.site.where, second.site.where)))


def meeting_point(trace: Trace, event: Event, other: Event) -> Site:
    """The place that leads to an event in the function, or in the script, that another one is met in too."""
    around = {id(scope) for scope in other.scopes()}
    shared = next((s for s in event.scopes() if s.kind == "call" and id(s) in around), None)
    return _entered_at(trace, event, shared)


def _entered_at(trace: Trace, event: Event, function: Scope | None) -> Site:
    """The line of a function, or of the script, that leads to an event."""
    inner: Scope | None = None
    for scope in event.scopes():
        if scope is function:
            break
        inner = scope if scope.kind == "call" else inner
    call = call_of(trace, inner) if inner is not None else None
    return (call if call is not None else event).site


def call_of(trace: Trace, entered: Scope) -> Call | None:
    """The call that led into a function's scope."""
    name = getattr(entered.node, "name", "")
    found: Call | None = None
    for event in trace.events:
        if any(scope is entered for scope in event.scopes()):
            return found
        if isinstance(event, Call) and event.scope is entered.outer and _leads_into(event, name):
            found = event
    return found


def _leads_into(call: Call, name: str) -> bool:
    callee = call.callee
    is_named = isinstance(callee, FunctionValue) and callee.function.name == name
    return is_named or call.name == name or name in {"__call__", "__init__", "forward"}
