"""Which runs of networks a backward pass goes back through, whatever the code around them is called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from stethoscope.program.loop.gradient_modes import without_gradients
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.parameter_owners import holder_of, is_of_plain_tensors
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
            if not met and _moves_no_network(trace, moves, move):
                continue
            # Of a loss that leads back to no network it is not known which run it came from.
            found.update(id(call) for call in _before(move, met or forwards, places))
    return frozenset(found)


def all_are_followed(trace: Trace, moves: Sequence[Move]) -> bool:
    """Whether every loss that is minimised leads back to runs of networks: then no other run is trained."""
    return all(
        any(calls for _, calls in met_passes(trace, move.subject)) or _moves_no_network(trace, moves, move)
        for move in moves
        if move.kind is Kind.BACKWARD
    )


def _moves_no_network(trace: Trace, moves: Sequence[Move], backward: Move) -> bool:
    """Whether the update behind a backward pass is of tensors that are searched for: prototypes, a code."""
    behind = moves[moves.index(backward) + 1 :]
    update = next((move for move in behind if move.updates), None)
    held = holder_of(trace, update.subject) if update is not None else ()
    return bool(held) and all(map(is_of_plain_tensors, held))


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
