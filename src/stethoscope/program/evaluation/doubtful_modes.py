"""Where the mode of a network may be switched in a way that is not followed to a network.

for module in net.modules():        stack.callback(net.train)
    module.training = False         net.apply(lambda module: module.train())
getattr(net, mode)()                for net in unknown(): net.train()
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stethoscope.program.index import Function
from stethoscope.program.likenesses import words
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.events import Assignment, Call, Event
from stethoscope.program.walk.networks import are_related, networks
from stethoscope.program.walk.values import Applied, ClassValue, FunctionValue, Instance, Leaf, Part, Value

# What functions that nobody can look into say when they switch the mode of what they are given.
SWITCHING = frozenset({"eval", "mode", "modes", "evaluate", "inference", "freeze", "train", "training"})
MANAGERS = ("contextmanager", "asynccontextmanager")


def doubtful_switches(
    events: Sequence[Event], moves: Sequence[Move]
) -> tuple[tuple[Event, Value | None], ...]:
    """Events that may switch a mode, each with what it may be of; None where that may be any network."""
    found: dict[int, tuple[Event, Value | None]] = {}
    for move in moves:
        if move.kind in {Kind.TRAIN_MODE, Kind.EVAL_MODE} and _is_of_unknown(move.subject):
            found[id(move.event)] = (move.event, None)
    followed = {id(move.event) for move in moves if move.kind in {Kind.TRAIN_MODE, Kind.EVAL_MODE}}
    for event in events:
        if id(event) not in followed and id(event) not in found:
            found.update({id(event): (event, of) for of in _by_other_means(event)})
    return tuple(found.values())


def may_switch(doubt: tuple[Event, Value | None], network: Value | None) -> bool:
    """Whether a doubtful switch may be of a network."""
    return doubt[1] is None or are_related(doubt[1], network)


def _is_of_unknown(subject: Value | None) -> bool:
    """Whether what is switched may be anything: an element of something that was not followed."""
    return any(isinstance(one, Leaf) or _is_element(one) for one in networks(subject))


def _is_element(value: Value) -> bool:
    while isinstance(value, Part):
        if value.key == "*":
            return True
        value = value.base
    return False


def _by_other_means(event: Event) -> Iterator[Value | None]:
    if isinstance(event, Assignment):
        if isinstance(event.target, ast.Attribute) and event.target.attr == "training":
            yield _known(event.owner)
    elif isinstance(event, Call):
        node = event.site.node
        if not isinstance(node, ast.Call):
            return
        if _is_getattr(node.func) and isinstance(event.callee, Leaf):
            yield None
        elif event.name == "setattr" and _says(node, "training"):
            yield _known(event.args[0] if event.args else None)
        elif _hands_over(node):
            yield _known(_receiver(event))
        elif SWITCHING & set(words(event.name)) and not _is_followed(event):
            yield from (value for value in (*event.args, *event.keywords.values()) if _known(value))


def _is_followed(call: Call) -> bool:
    """Whether a call leads into the repository, where it is seen what it does."""
    return isinstance(call.callee, FunctionValue | ClassValue) or isinstance(call.receiver, Instance)


def _known(value: Value | None) -> Value | None:
    """A network that is known to be one; None for anything that may stand for any."""
    return value if isinstance(value, Instance | Applied) and not _is_of_unknown(value) else None


def _receiver(call: Call) -> Value | None:
    """The object whose own method is handed to `apply`; a switch handed elsewhere may be of any network."""
    return call.receiver if call.name == "apply" else None


def _is_getattr(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr"


def _says(node: ast.Call, text: str) -> bool:
    return any(isinstance(arg, ast.Constant) and arg.value == text for arg in node.args)


def _hands_over(node: ast.Call) -> bool:
    """Whether `net.train` or a lambda that switches is handed to something."""
    given = (*node.args, *(keyword.value for keyword in node.keywords))
    return any(_is_switch(arg) for arg in given)


def _is_switch(arg: ast.expr) -> bool:
    if isinstance(arg, ast.Lambda):
        called = [n.func for n in all_nodes(arg.body, ast.Call)]
        return any(isinstance(func, ast.Attribute) and func.attr in {"train", "eval"} for func in called)
    return isinstance(arg, ast.Attribute) and arg.attr in {"train", "eval"}


def is_in_generator(event: Event) -> bool:
    """Whether an event is inside a generator that switches to and fro between what it gives.

    It goes on when the next element is asked for, so that its last switch is not the last one.
    """
    return bool(event.within) and _is_generator(event.within[-1])


def _is_generator(function: Function) -> bool:
    called = {
        node.func.attr for node in own_nodes(function.node, ast.Call) if isinstance(node.func, ast.Attribute)
    }
    if not {"train", "eval"} <= called:
        return False
    if any(name.rpartition(".")[2] in MANAGERS for name in function.decorators):
        return False  # what it does after its yield is met after the body
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(function.node))
