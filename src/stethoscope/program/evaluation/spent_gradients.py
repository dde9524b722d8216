"""Which runs of networks leave gradients that an update of the weights uses.

A backward pass can be there to look (a saliency map, the slope of the output): its gradients are cleared
before the next update, or `autograd.grad` hands them out and leaves none.
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.program.evaluation.evaluations import Walk, called_network
from stethoscope.program.loop.moves import Kind, Move, same_object
from stethoscope.program.loop.roles import Role, role_of
from stethoscope.program.remembered import remembered
from stethoscope.program.walk.events import Call, Event
from stethoscope.program.walk.graphs import passes
from stethoscope.program.walk.networks import networks


@remembered
def runs_only_looked_at(walk: Walk) -> frozenset[int]:
    """The ids of the calls of networks whose gradients no update uses, where that is certain."""
    used: set[int] = set()
    looked_at: set[int] = set()
    for move in walk.moves:
        if move.kind is Kind.BACKWARD:
            runs = {id(call) for call in _runs(walk, move)}
            if _is_thrown_away(walk, move):
                looked_at |= runs
            else:
                used |= runs
    for event in walk.trace.events:
        if isinstance(event, Call) and event.name == "grad" and event.argument(0, "outputs") is not None:
            looked_at |= {id(call) for call in passes(walk.trace, event.argument(0, "outputs"))}
    return frozenset(looked_at - used)


@remembered
def runs_without_backward(walk: Walk) -> frozenset[int]:
    """The ids of the runs of networks that no backward pass goes through, where one does through another run.

    What a network answers behind its training, on all that was held out at once, is such a run.
    """
    backward = [move for move in walk.moves if move.kind is Kind.BACKWARD]
    passed = {id(call) for move in backward for call in passes(walk.trace, move.subject)}
    runs = [move for move in walk.moves if move.kind is Kind.FORWARD]
    learning = {id(one) for run in runs if id(run.event) in passed for one in networks(called_network(run))}
    return frozenset(
        id(run.event)
        for run in runs
        if id(run.event) not in passed
        and all(id(one) in learning for one in networks(called_network(run)))
        and not _is_in_graph_of_unknown(walk, run, backward)
    )


def _is_in_graph_of_unknown(walk: Walk, run: Move, backward: list[Move]) -> bool:
    """Whether a backward pass behind a run is of something that could not be followed to any run."""
    here = walk.place(run.event)
    return any(walk.place(move.event) > here and not passes(walk.trace, move.subject) for move in backward)


def _runs(walk: Walk, backward: Move) -> Iterator[Call]:
    """The runs of networks that a backward pass goes through, in the same call of the same function."""
    around = {id(scope) for scope in backward.event.scopes() if scope.kind in {"call", "loop"}}
    for call in passes(walk.trace, backward.subject):
        if all(id(s) in around for s in call.scopes() if s.kind == "loop"):
            yield call


def _is_thrown_away(walk: Walk, backward: Move) -> bool:
    """Whether the gradients are surely cleared before the next update."""
    cleared: list[Move] = []
    for move in _from_here_on(walk, backward):
        if move.kind is Kind.ZERO_GRAD and not _conditions(move.event) - _conditions(backward.event):
            cleared.append(move)
        elif move.updates:
            return any(_clears(walk, clearing, move) for clearing in cleared)
    return False


def _from_here_on(walk: Walk, backward: Move) -> Iterator[Move]:
    """The moves after a backward pass, and those of the next round of each loop around it."""
    here = walk.moves.index(backward)
    for loop in (scope for scope in backward.event.scopes() if scope.kind == "loop"):
        inside = [i for i, move in enumerate(walk.moves) if any(s is loop for s in move.event.scopes())]
        round_ = [walk.moves[i] for i in inside if i > here] + [walk.moves[i] for i in inside if i < here]
        if any(move.updates for move in round_):
            yield from round_
            return
    yield from walk.moves[here + 1 :]


def _conditions(event: Event) -> set[int]:
    return {id(scope) for scope in event.scopes() if scope.kind == "if"}


def _clears(walk: Walk, clearing: Move, update: Move) -> bool:
    """`optimizer.zero_grad()` clears for that optimizer; `model.zero_grad()` is taken to clear all."""
    is_optimizer = role_of(walk.trace.run, clearing.subject) is Role.OPTIMIZER
    return not is_optimizer or same_object(clearing.subject, update.subject)
