"""Events of which only one happens: the arms of a condition, methods of one name of several classes."""

from __future__ import annotations

from collections.abc import Sequence

from stethoscope.program.loop.meeting_places import call_of
from stethoscope.program.loop.training_loop import condition
from stethoscope.program.walk.events import Event
from stethoscope.program.walk.trace import Trace


def are_alternatives(trace: Trace, first: Event, again: Event) -> bool:
    """Whether of two events only one happens."""
    return _are_of_classes(trace, first, again) or _are_arms(first, again)


def is_one_of(trace: Trace, events: Sequence[Event]) -> bool:
    """Whether of several events no two happen together."""
    return all(
        are_alternatives(trace, one, other)
        for place, one in enumerate(events)
        for other in events[place + 1 :]
    )


def _are_of_classes(trace: Trace, first: Event, again: Event) -> bool:
    """Whether one call leads to both, by methods of classes of which an object has only one."""
    entered = {id(scope.outer): scope for scope in first.scopes() if scope.kind == "call"}
    for scope in again.scopes():
        other = entered.get(id(scope.outer)) if scope.kind == "call" else None
        if other is None or other is scope:
            continue
        if other.node is not scope.node:
            return getattr(other.node, "name", "") == getattr(scope.node, "name", "")
        call = call_of(trace, scope)
        return call is not None and call is call_of(trace, other)
    return False


def _are_arms(first: Event, again: Event) -> bool:
    """Whether one condition leads to the one where it is met and to the other where it is not."""
    asked = {(id(s.node), s.arm) for s in first.scopes() if s.kind == "if"}
    spoken = {condition(s) for s in first.scopes() if s.kind == "if"}
    for scope in again.scopes():
        if scope.kind != "if":
            continue
        question, answer = condition(scope)
        if (id(scope.node), not scope.arm) in asked or (question, not answer) in spoken:
            return True
    return False
