"""Copies of a network that training never touches again, and that the evaluation runs in its place."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from stethoscope.program.evaluation.evaluations import Evaluation, Walk
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Assignment, Call, Event
from stethoscope.program.walk.networks import networks, parameter_owners
from stethoscope.program.walk.values import Applied, FunctionValue, Instance, LambdaValue, Site, Value

# What leaves the weights of a network as they are.
# fmt: off
READING = frozenset({
    "eval", "train", "to", "cuda", "cpu", "float", "half", "double", "forward", "__call__", "requires_grad_",
    "print", "len", "isinstance", "type", "id", "watch", "save", "repr", "str", "hasattr", "getattr",
})
# fmt: on
WEIGHTS = frozenset({"state_dict", "parameters", "named_parameters", "buffers", "named_buffers"})


@dataclass(frozen=True, slots=True, eq=False)
class FrozenCopy:
    """An evaluation of a copy, and where the copy was made."""

    evaluation: Evaluation
    made_at: Site


def frozen_copies(walk: Walk) -> tuple[FrozenCopy, ...]:
    """The evaluations in the training loop that run a copy made before it, where none runs the network."""
    evaluations = [one for one in walk.evaluations if _repeats(walk, one.forward.event)]
    measured = [_only(one.network) for one in evaluations]
    trained = trained_networks(walk)
    makings = [event for event in walk.trace.events if _copies(event, trained)]
    if not walk.trace.complete or not evaluations or not trained or not makings:
        return ()
    if any(_repeats(walk, event) for event in makings):
        return ()  # a picture of the weights as they are
    if not all(one is not None and is_copy(one, trained) for one in measured):
        return ()
    if any(
        _may_write(walk, event, one) for event in walk.trace.events for one in measured if one is not None
    ):
        return ()
    return tuple(FrozenCopy(one, makings[-1].site) for one in evaluations)


def _repeats(walk: Walk, event: Event) -> bool:
    return any(scope.kind == "loop" and id(scope) in walk.training_scopes for scope in event.scopes())


def _only(network: Value | None) -> Value | None:
    found = networks(network)
    return found[0] if len(found) == 1 else None


def trained_networks(walk: Walk) -> tuple[Value, ...]:
    """The networks that an optimizer of the walk was made for."""
    found: dict[int, Value] = {}
    for optimizer in {id(m.subject): m.subject for m in walk.moves if m.updates and m.subject}.values():
        for owner in parameter_owners(walk.trace.run, optimizer):
            found.update({id(network): network for network in networks(owner)})
    return tuple(found.values())


def _copies(event: Event, trained: tuple[Value, ...]) -> bool:
    """`copy.deepcopy(net)` of a network that is trained."""
    if not isinstance(event, Call) or event.name != "deepcopy" or not event.args:
        return False
    return any(one is network for one in networks(event.args[0]) for network in trained)


def is_copy(network: Value, trained: tuple[Value, ...]) -> bool:
    """Whether a network is of the kind of a trained one, and none of them."""
    if any(network is one for one in trained):
        return False
    if isinstance(network, Instance):
        return any(isinstance(one, Instance) and one.cls is network.cls for one in trained)
    if not isinstance(network, Applied) or network.callee != "copy.deepcopy":
        return False
    return any(one is inner for one in trained for inner in networks(network.args[0]))


def _may_write(walk: Walk, event: Event, network: Value) -> bool:
    """Whether an event in or behind the training loop may change the weights of a network."""
    if isinstance(event, Assignment):
        return event.owner is network and _repeats(walk, event)
    if not isinstance(event, Call) or not _repeats(walk, event):
        return False
    if any(one is network for one in networks(event.receiver)):
        if event.name in WEIGHTS:
            return not _is_kept(event)
        return event.name not in READING and event.name not in _attributes(network)
    given = (*event.args, *event.keywords.values())
    if not any(one is network for arg in given for one in networks(arg)):
        return False
    is_followed = isinstance(event.callee, FunctionValue | LambdaValue) or _is_method(event)
    return not is_followed and event.name not in READING


def _attributes(network: Value) -> frozenset[str]:
    """The layers of a network, which its own forward pass calls."""
    return frozenset(network.attributes) if isinstance(network, Instance) else frozenset()


def _is_method(event: Call) -> bool:
    return isinstance(event.receiver, Instance) and event.name in event.receiver.cls.methods


def _is_kept(event: Call) -> bool:
    """Whether weights are only taken to be saved: inside a call that saves, a dictionary or a `return`."""
    for node in all_nodes(event.site.source.tree):
        called = _name(node.func) if isinstance(node, ast.Call) else ""
        is_keeping = called == "dict" or "save" in words(called) or isinstance(node, ast.Dict | ast.Return)
        if is_keeping and any(inner is event.site.node for inner in ast.walk(node)):
            return True
    return False


def _name(node: ast.expr) -> str:
    return str(getattr(node, "attr", None) or getattr(node, "id", ""))
