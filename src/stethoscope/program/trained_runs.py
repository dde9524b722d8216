"""Which runs of networks a backward pass goes back through, whatever the code around them is called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stethoscope.program.events import Call, Event, Scope
from stethoscope.program.gradient_modes import without_gradients
from stethoscope.program.graphs import met_passes
from stethoscope.program.moves import Kind, Move
from stethoscope.program.trace import Trace

ROUNDS = frozenset({"loop", "comprehension"})


def trained_runs(trace: Trace, moves: Sequence[Move]) -> frozenset[int]:
    """The ids of the calls of networks whose output a loss was computed from that is minimised."""
    places = {id(event): place for place, event in enumerate(trace.events)}
    found: set[int] = set()
    for move in moves:
        if move.kind is Kind.BACKWARD:
            found.update(id(call) for call in _runs(trace, move, places))
    return frozenset(found)


def _runs(trace: Trace, backward: Move, places: dict[int, int]) -> Iterator[Call]:
    """The runs behind a loss, in the round of the loop that the backward pass is in."""
    around = innermost_round(backward.event)
    end = places.get(id(backward.event), -1)
    for _, calls in met_passes(trace, backward.subject):
        for call in calls:
            is_inside = around is None or any(scope is around for scope in call.scopes())
            if is_inside and places[id(call)] < end and not without_gradients(call):
                yield call


def innermost_round(event: Event) -> Scope | None:
    """The loop or comprehension directly around an event, through the calls between them."""
    return next((scope for scope in event.scopes() if scope.kind in ROUNDS), None)
