"""Which runs of networks a backward pass goes back through, whatever the code around them is called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from stethoscope.program.loop.gradient_modes import without_gradients
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.walk.events import Call, Event, Scope
from stethoscope.program.walk.graphs import met_passes
from stethoscope.program.walk.trace import Trace

ROUNDS = frozenset({"loop", "comprehension"})


def trained_runs(trace: Trace, moves: Sequence[Move]) -> frozenset[int]:
    """The ids of the calls of networks whose output a loss was computed from that is minimised."""
    places = {id(event): place for place, event in enumerate(trace.events)}
    found: set[int] = set()
    forwards = [move.event for move in moves if move.kind is Kind.FORWARD and isinstance(move.event, Call)]
    for move in moves:
        if move.kind is Kind.BACKWARD:
            met = [call for _, calls in met_passes(trace, move.subject) for call in calls]
            # Of a loss that leads back to no network it is not known which run it came from.
            found.update(id(call) for call in _before(move, met or forwards, places))
    return frozenset(found)


def _before(backward: Move, calls: Iterable[Call], places: dict[int, int]) -> Iterator[Call]:
    """The calls before a backward pass, in the round of the loop that it is in."""
    around = innermost_round(backward.event)
    end = places.get(id(backward.event), -1)
    for call in calls:
        is_inside = around is None or any(scope is around for scope in call.scopes())
        if is_inside and places[id(call)] < end and not without_gradients(call):
            yield call


def innermost_round(event: Event) -> Scope | None:
    """The loop or comprehension directly around an event, through the calls between them."""
    return next((scope for scope in event.scopes() if scope.kind in ROUNDS), None)
