"""Whose weights are saved, and whose score decides on it."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.program.evaluation.averages_by_hand import drawings
from stethoscope.program.evaluation.choosing import Choosing, choosings
from stethoscope.program.evaluation.evaluations import Walk, called_network
from stethoscope.program.loop.moves import Kind
from stethoscope.program.loop.roles import Role, role_of
from stethoscope.program.walk.ancestry import ancestry
from stethoscope.program.walk.events import Assignment, Call, Event
from stethoscope.program.walk.networks import networks
from stethoscope.program.walk.values import Applied, Delayed, FunctionValue, Instance, Part, Value, inputs

MOST_LOOKED = 2000


def raw_instead_of_measured(walk: Walk) -> Iterator[Choosing]:
    """The saves of the raw weights that only the score of their average decides on."""
    averages = {id(network) for drawing in drawings(walk) for network in networks(drawing.average)}
    for choosing in choosings(walk):
        measured = measured_networks(walk, choosing.metric)
        saved = list(_saved(choosing.save))
        if not measured or not saved:
            continue
        are_average = [_is_average(walk, network, averages) for network in measured]
        is_raw = [is_trained(walk, network) for network in saved]
        if all(are_average) and all(is_raw):
            yield choosing


def _is_average(walk: Walk, network: Value, averages: set[int]) -> bool:
    return id(network) in averages or role_of(walk.trace.run, network) is Role.AVERAGE


def is_trained(walk: Walk, network: Value) -> bool:
    """Whether a backward pass goes through it."""
    runs = (move for move in walk.moves if move.kind is Kind.FORWARD and id(move.event) in walk.trained)
    return any(one is network for move in runs for one in networks(called_network(move)))


def measured_networks(walk: Walk, metric: Value) -> tuple[Value, ...]:
    """The networks whose output a score was made from, each once."""
    return tuple({id(one): one for one in _measured(walk, metric)}.values())


def _measured(walk: Walk, metric: Value) -> Iterator[Value]:
    met: dict[int, list[Call]] = {}
    for move in walk.moves:
        if move.kind is Kind.FORWARD and isinstance(move.event, Call):
            met.setdefault(id(move.event.site.node), []).append(move.event)
    for value in ancestry(walk.trace.run, metric):
        if isinstance(value, Applied | Delayed) and id(value.site.node) in met:
            yield from networks(_runs(value))


def _runs(value: Applied | Delayed) -> Value | None:
    if isinstance(value, Delayed):
        return value.callee.bound if isinstance(value.callee, FunctionValue) else None
    if value.maker is not None:
        return value.maker
    return value.args[0] if value.callee == "()" and value.args else None


def _saved(event: Event) -> Iterator[Value]:
    """The networks whose weights are in what an event saves or keeps."""
    given: list[Value] = []
    if isinstance(event, Call):
        given = [*event.args, *event.keywords.values()]
    elif isinstance(event, Assignment):
        given = [event.value]
    seen: set[int] = set()
    while given and len(seen) < MOST_LOOKED:
        value = given.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        owner = _owner_of_state(value)
        if owner is not None:
            yield from networks(owner)
        elif not isinstance(value, Instance):
            given.extend(inputs(value))


def _owner_of_state(value: Value) -> Value | None:
    """The network of `net.state_dict()`."""
    match value:
        case Applied(callee=".state_dict", args=(owner, *_)):
            return owner
        case Applied(callee="()", args=(Part(base=owner, key="state_dict"), *_)):
            return owner
        case Delayed(callee=FunctionValue(function=function, bound=bound)) if function.name == "state_dict":
            return bound
    return None
