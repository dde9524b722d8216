"""The passes through networks that a value was computed with, and whether they left a graph."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.program.data.ingredients import LAYOUT
from stethoscope.program.index import Function
from stethoscope.program.loop.gradient_modes import OFF, is_switched_off, without_gradients
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.ancestry import MOST_VALUES, ancestry, cuts_gradient, quietly
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.network_passes import is_model_call
from stethoscope.program.walk.trace import Trace
from stethoscope.program.walk.values import Applied, Delayed, Instance, Part, Value, inputs

SWITCHES = OFF | {"set_grad_enabled"}
FEWEST = 2  # values of a call that an object is given something by: itself, and that


def passes(trace: Trace, value: Value | None) -> tuple[Call, ...]:
    """The calls of networks that gradients of a value would go back through.

    None at all where one of them was not met: then nothing can be said of the others either.
    """
    found: list[Call] = []
    for _, calls in met_passes(trace, value):
        if not calls:
            return ()
        found.extend(calls)
    return tuple(found)


def asks_unknown_objects(trace: Trace, value: Value | None) -> bool:
    """Whether a value was computed by the method of an object that is not known, with gradients recorded.

    `self.critic.values(state)`: the object may be a network, and the method may run it.
    """
    met = _calls_by_place(trace)
    return any(
        not all(map(without_gradients, met.get(id(one.site.node), ())))
        for one in ancestry(trace.run, value, cuts_gradient)
        if isinstance(one, Applied) and _is_of_unknown_object(trace, one)
    )


def _is_of_unknown_object(trace: Trace, value: Applied) -> bool:
    if not value.callee.startswith(".") or value.callee[1:] in LAYOUT:
        return False
    if not value.args or len(value.args) + len(value.keywords) < FEWEST:
        return False
    made_of = list(ancestry(trace.run, value.args[0]))
    is_tensor = any(isinstance(one, Part) and one.key == "*" for one in made_of)  # drawn from data
    return not is_tensor and not any(is_model_call(trace.run.index, one) for one in made_of)


def met_passes(trace: Trace, value: Value | None) -> Iterator[tuple[Value, tuple[Call, ...]]]:
    """What networks gave, on the way back from a value, with the calls in the walk that ran them.

    A function that the walk put off is met where it is called, and what runs inside it happens there.
    """
    met = _calls_by_place(trace)
    waiting: list[tuple[Value, tuple[Call, ...]]] = [(value, ())] if value is not None else []
    seen: set[int] = set()
    while waiting and len(seen) < MOST_VALUES:
        one, around = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        if cuts_gradient(one):
            continue
        calls = tuple(met.get(id(one.site.node), ())) if isinstance(one, Applied | Delayed) else ()
        calls = _met_inside(calls, around)
        if isinstance(one, Applied | Delayed) and is_model_call(trace.run.index, one):
            yield one, calls or around
        waiting.extend((given, around) for given in inputs(one))
        made = quietly(trace.run, one)
        if made is not one:
            waiting.append((made, calls or around if _leaves_gradients_alone(one) else ()))


def _met_inside(calls: tuple[Call, ...], around: tuple[Call, ...]) -> tuple[Call, ...]:
    """Those of the calls that happen where a function that was put off is called.

    A method that training and an evaluation call is followed in one of them alone at times.
    """
    return tuple(call for call in calls if not around or any(_is_inside(call, outer) for outer in around))


def _is_inside(call: Call, outer: Call) -> bool:
    """Whether a call happens in what another one runs, and not beside it below the same loops."""
    place = list(outer.scopes())
    between = list(call.scopes())
    if not between or [id(one) for one in between[len(between) - len(place) :]] != [id(one) for one in place]:
        return False
    between = between[: len(between) - len(place)]
    return not between or between[-1].kind == "call"


def _leaves_gradients_alone(value: Value) -> bool:
    """Whether nothing inside a function that was put off may switch gradients off."""
    function = getattr(getattr(value, "callee", None), "function", None)
    if not isinstance(function, Function):
        return False
    return not any(
        getattr(node, "attr", None) in SWITCHES or getattr(node, "id", None) in SWITCHES
        for node in all_nodes(function.node)
    )


def has_graph(trace: Trace, value: Value | None) -> bool:
    """Whether a value was computed by a network while gradients were recorded."""
    return any(records(trace, call) for call in passes(trace, value))


def records(trace: Trace, call: Call) -> bool:
    """Whether gradients are recorded where a network runs, and in its own forward."""
    if without_gradients(call):
        return False
    network = network_run(call)
    if not isinstance(network, Instance):
        return True
    forward = trace.run.index.method(network.cls, "forward")
    return forward is None or not is_switched_off(forward)


def network_run(call: Call) -> Value | None:
    """The network that a call runs: `net(x)`, or `self.net(x)` of an object whose parts are known."""
    network = call.callee if call.receiver is None else None
    if isinstance(call.receiver, Instance):
        network = call.receiver.attributes.get(call.name)
    return network


@remembered
def _calls_by_place(trace: Trace) -> dict[int, list[Call]]:
    met: dict[int, list[Call]] = {}
    for event in trace.events:
        if isinstance(event, Call):
            met.setdefault(id(event.site.node), []).append(event)
    return met
