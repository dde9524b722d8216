"""Averages that are put into the trained network to measure it, and never taken out again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.evaluation.averages import AVERAGE_WORDS, TAKING_OUT
from stethoscope.program.evaluation.evaluations import EVALUATION_WORDS, Walk, called_network, names_in
from stethoscope.program.likenesses import words
from stethoscope.program.loop.moves import Kind, Move, receiver_role
from stethoscope.program.loop.roles import Role, class_role
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.networks import is_same_network
from stethoscope.program.walk.values import Applied, Value

PUTTING_IN = frozenset(
    {"apply_shadow", "copy_to", "apply_to", "swap_in", "apply_ema", "load_ema", "assign_to"}
)
PUTTING_BACK = TAKING_OUT | {"swap", "backup", "raw", "online", "saved", "stored", "before", "live"}
SHOWING = EVALUATION_WORDS | {"sample", "sampling", "generate"}


@dataclass(frozen=True, slots=True, eq=False)
class LeftIn:
    """Where an average goes into the network that is trained, and what is done with it there, if anything."""

    put_in: Call
    measured: Call | None


def averages_left_in(walk: Walk) -> Iterator[LeftIn]:
    """The averages that stay in the trained network when training goes on."""
    calls = [event for event in walk.trace.events if isinstance(event, Call)]
    for place, event in enumerate(calls):
        if not _puts_in(walk, event) or not _is_trained_on_after(walk, event):
            continue
        if any(_takes_out(walk, later) for later in calls[place + 1 :]) or _is_held(event):
            continue
        measured = next((one for one in calls[place + 1 :] if SHOWING & set(words(one.name))), None)
        yield LeftIn(event, measured)


def _puts_in(walk: Walk, event: Call) -> bool:
    owner = event.within[-1].owner if event.within else None
    if owner is not None and class_role(walk.trace.run.index, owner) is Role.AVERAGE:
        return False  # how an average does it
    if event.name in PUTTING_IN and receiver_role(walk.trace.run, event) is Role.AVERAGE:
        handed = (*event.args, *event.keywords.values())
        return not handed or any(_is_trained(walk, one) for one in handed)
    if event.name != "load_state_dict" or not isinstance(event.site.node, ast.Call):
        return False
    given = {name for arg in event.site.node.args for name in names_in(arg)}
    into = set(names_in(event.site.node.func))
    return _says(given) and not _says(into) and _is_trained(walk, event.receiver)


def _says(names: set[str]) -> bool:
    return any(AVERAGE_WORDS & set(words(name)) for name in names)


def _is_trained(walk: Walk, value: Value | None) -> bool:
    """Whether a value is the network that is trained, or its parameters."""
    if isinstance(value, Applied) and value.callee in {".parameters", ".state_dict", ".named_parameters"}:
        value = value.args[0]
    runs = (e for e in walk.trace.events if isinstance(e, Call) and id(e) in walk.trained)
    return any(is_same_network(called_network(Move(Kind.FORWARD, one)), value) for one in runs)


def _is_trained_on_after(walk: Walk, event: Call) -> bool:
    """Whether training goes on: the call is made inside a loop that trains."""
    return any(scope.kind == "loop" and id(scope) in walk.training_scopes for scope in event.scopes())


def _takes_out(walk: Walk, event: Call) -> bool:
    named = set(words(event.name))
    if named & PUTTING_BACK and event.name not in PUTTING_IN:
        return True
    if event.name != "load_state_dict" or not isinstance(event.site.node, ast.Call):
        return False
    given = {name for arg in event.site.node.args for name in names_in(arg)}
    return not _says(given) and _is_trained(walk, event.receiver)


def _is_held(event: Call) -> bool:
    return any(scope.kind == "with" and scope.node is event.site.node for scope in event.scopes())
