"""Trained networks that give targets while their dropout and batch norm work as in training.

teacher = Net(); teacher.load_state_dict(...)      and no teacher.eval() anywhere
for x, y in loader:
    with torch.no_grad():
        target = teacher(x)

An average of the network that is trained may run so on purpose; one whose weights were loaded, and that no
optimizer trains, was finished before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.evaluation.averages_by_hand import drawings
from stethoscope.program.evaluation.doubtful_modes import may_switch
from stethoscope.program.evaluation.evaluations import Walk, called_network
from stethoscope.program.loop.gradient_modes import without_gradients
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.roles import Role, role_of
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.networks import (
    are_related,
    has_two_modes,
    is_from_pretrained,
    is_made_here,
    networks,
    trained_by,
)
from stethoscope.program.walk.values import Applied, Constant, Value, is_nothing


@dataclass(frozen=True, slots=True, eq=False)
class WakefulTeacher:
    """A run of a finished network inside training, and what says that it was finished."""

    forward: Move
    network: Value


def wakeful_teachers(walk: Walk) -> Iterator[WakefulTeacher]:
    """The finished networks that training runs without gradients, in training mode."""
    evaluated = {id(one.forward) for one in walk.evaluations}
    seen: set[int] = set()
    for move in walk.moves:
        if move.kind is not Kind.FORWARD or id(move) in evaluated or not without_gradients(move.event):
            continue
        if not any(
            scope.kind == "loop" and id(scope) in walk.training_scopes for scope in move.event.scopes()
        ):
            continue
        found = networks(called_network(move))
        if len(found) == 1 and id(found[0]) not in seen and _is_wakeful(walk, found[0]):
            seen.add(id(found[0]))
            yield WakefulTeacher(move, found[0])


def _is_wakeful(walk: Walk, network: Value) -> bool:
    run = walk.trace.run
    if not has_two_modes(run, network) or is_from_pretrained(network) or not is_made_here(network):
        return False
    if _is_copy(network) or role_of(run, network) is Role.AVERAGE or not _is_finished(walk, network):
        return False
    if any(are_related(drawing.average, network) for drawing in drawings(walk)):
        return False
    if any(trained_by(run, move.subject, network) is not False for move in walk.moves if move.updates):
        return False
    switches = (m for m in walk.moves if m.kind in {Kind.TRAIN_MODE, Kind.EVAL_MODE})
    if any(are_related(m.subject, network) for m in switches):
        return False
    return not any(may_switch(doubt, network) for doubt in walk.doubtful_switches)


def _is_copy(network: Value) -> bool:
    return isinstance(network, Applied) and network.callee.rpartition(".")[2] == "deepcopy"


def _is_finished(walk: Walk, network: Value) -> bool:
    """Whether weights are loaded into a network, or it is made with those of a library."""
    for event in walk.trace.events:
        if (
            isinstance(event, Call)
            and event.name == "load_state_dict"
            and are_related(event.receiver, network)
        ):
            return True
    if not isinstance(network, Applied):
        return False
    told = [network.keywords.get(name) for name in ("pretrained", "weights")]
    return any(
        one is not None and not is_nothing(one) and not (isinstance(one, Constant) and not one.value)
        for one in told
    )
