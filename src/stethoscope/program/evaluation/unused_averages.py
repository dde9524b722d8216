"""Averages of the weights that a program keeps up to date and then uses for nothing.

An average is used where anything but its upkeep speaks of it: it is run, saved, handed on, returned, or put
into the network.
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.program.evaluation.averages_by_hand import drawings
from stethoscope.program.evaluation.evaluations import Walk, called_network, names_in
from stethoscope.program.likenesses import words
from stethoscope.program.loop.gradient_modes import without_gradients
from stethoscope.program.loop.moves import Kind
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Assignment, Call, Event
from stethoscope.program.walk.networks import is_same_network, networks
from stethoscope.program.walk.values import Value

# fmt: off
UPKEEP = frozenset({
    "update", "update_parameters", "ema_update", "update_ema", "to", "eval", "train", "requires_grad_",
    "cuda",
    "register", "parameters", "named_parameters", "buffers", "named_buffers", "compile", "float", "half",
    "modules", "step", "zip", "cpu", "freeze",
})
SAVING = frozenset({"save", "save_model", "save_pretrained", "save_file", "save_checkpoint", "export"})
# fmt: on


def raw_results(walk: Walk) -> tuple[Event, ...]:
    """What is saved or shown of the raw weights, where the average that is kept of them is not used."""
    if not walk.trace.complete:
        return ()
    kept = list(_kept(walk))
    if not kept or any(_is_used(walk, value) for value in kept):
        return ()
    return tuple(_results(walk))


def _kept(walk: Walk) -> Iterator[Value]:
    """The averages that training loops update."""
    for move in walk.moves:
        trains = any(s.kind == "loop" and id(s) in walk.training_scopes for s in move.event.scopes())
        if move.kind is Kind.AVERAGE_UPDATE and trains and move.subject is not None:
            yield move.subject
    for drawing in drawings(walk):
        yield drawing.average


def _is_used(walk: Walk, average: Value) -> bool:
    names: set[str] = set()
    made: set[int] = set()
    for event in walk.trace.events:
        if isinstance(event, Assignment) and is_same_network(event.value, average):
            names |= set(names_in(event.target)) - {"self"}
            made.add(id(event))
    if not names:
        return True  # it came from where this walk did not look
    headers = {id(node) for drawing in drawings(walk) for node in all_nodes(drawing.loop)}
    for event in walk.trace.events:
        if id(event) in made or id(event.site.node) in headers:
            continue
        if isinstance(event, Call) and (event.name in UPKEEP or _only_makes(event, average)):
            continue
        if names & set(names_in(event.site.node)):
            return True
    return False


def _only_makes(call: Call, average: Value) -> bool:
    """`copy.deepcopy(net)` as part of how the average is made."""
    return any(getattr(value, "site", None) is call.site for value in networks(average))


def _results(walk: Walk) -> Iterator[Event]:
    """The runs without gradients and the saves of networks that training runs."""
    trained = [
        called_network(move)
        for move in walk.moves
        if move.kind is Kind.FORWARD and not without_gradients(move.event)
    ]
    for move in walk.moves:
        is_shown = move.kind is Kind.FORWARD and without_gradients(move.event)
        if is_shown and any(is_same_network(called_network(move), network) for network in trained):
            yield move.event
    for event in walk.trace.events:
        if isinstance(event, Call) and event.name in SAVING and _speaks_of_weights(event):
            yield event


def _speaks_of_weights(call: Call) -> bool:
    named = {word for name in names_in(call.site.node) for word in words(name)}
    return bool(named & {"state", "model", "net", "weights", "params", "network"})
