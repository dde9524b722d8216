"""The averages of weights that a training keeps: where they are updated, and what measures them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from stethoscope.program.evaluation.averages_by_hand import drawings
from stethoscope.program.evaluation.evaluations import Evaluation, Walk, called_network, names_in
from stethoscope.program.likenesses import words
from stethoscope.program.loop.moves import Kind, Move, receiver_role
from stethoscope.program.loop.roles import Role, class_role, role_of
from stethoscope.program.walk.events import Call, Event, Scope
from stethoscope.program.walk.networks import holds, is_same_network, networks
from stethoscope.program.walk.values import Site, Value

AVERAGE_WORDS = frozenset({"ema", "emas", "swa", "averaged", "shadow", "polyak"})
MAKING = frozenset({"init", "create", "build", "load", "save", "get", "make"})
# What is done with an average besides measuring it or putting its weights into the network.
# fmt: off
BOOKKEEPING = frozenset({
    "update", "update_parameters", "update_attr", "state_dict", "load_state_dict", "to", "eval", "train",
    "register", "requires_grad_", "step", "set", "cuda", "cpu", "parameters", "named_parameters", "buffers",
    "named_buffers", "modules", "named_modules", "update_buffers", "append", "get_decay", "current_decay",
    "decay", "values", "items", "keys", "update_after_step", "compile", "ema_update", "update_ema",
    "save_pretrained",
})
# fmt: on
SAVING = frozenset({"save", "dump", "checkpoint", "export", "print", "mkdir", "log", "info", "join"})
SWAPPING = frozenset({"swap", "copy", "restore", "store"})
TAKING_OUT = frozenset({"restore", "unapply", "unswap", "original"})


def average_updates(walk: Walk) -> tuple[Event, ...]:
    """The calls in training loops that update an average of the weights."""
    found: list[Event] = [
        m.event for m in walk.moves if m.kind is Kind.AVERAGE_UPDATE and _trains(walk, m.event)
    ]
    for event in walk.trace.events:
        named = set(words(event.name)) if isinstance(event, Call) else set()
        if named & {"ema", "swa"} and not named & MAKING and _trains(walk, event):
            found.append(event)
    return (*found, *(drawing.event for drawing in drawings(walk)))


def _trains(walk: Walk, event: Event) -> bool:
    return any(scope.kind == "loop" and id(scope) in walk.training_scopes for scope in event.scopes())


def is_teacher(walk: Walk) -> bool:
    """Whether training itself runs an average: then it is a target of the loss, and not the result."""
    drawn = [drawing.average for drawing in drawings(walk)]
    for move in _training_runs(walk):
        # What is inside a network that is trained may be run by it.
        if any(holds(called_network(move), average) for average in drawn):
            return True
        is_average = role_of(walk.trace.run, called_network(move)) is Role.AVERAGE
        if is_average or _says_average(names_in(move.event.site.node)):
            return True
    return False


def _training_runs(walk: Walk) -> Iterator[Move]:
    evaluated = {id(evaluation.forward) for evaluation in walk.evaluations}
    for move in walk.moves:
        if move.kind is Kind.FORWARD and id(move) not in evaluated and _trains(walk, move.event):
            yield move


def is_swapped_in(walk: Walk) -> bool:
    """Whether an average is asked for more than its upkeep: `ema.apply_shadow()`, `ema.copy_to(...)`.

    What is put in and taken out again before anything is done with it was not put in, and what is put in
    only while it is saved was not measured.
    """
    swaps = [event for event in walk.trace.events if isinstance(event, Call) and _swaps(walk, event)]
    outs = [walk.place(event) for event in swaps if set(words(event.name)) & TAKING_OUT]
    for event in swaps:
        here = walk.place(event)
        end = next((place for place in outs if place > here), None)
        if here in outs:
            continue
        held = list(_held_by(walk, event))
        if held:
            if any(_may_measure(walk, one) for one in held):
                return True
        elif end is None or _is_used_between(walk, event, end):
            return True
    return False


def _held_by(walk: Walk, swap: Call) -> Iterator[Call]:
    """What happens inside `with ema.applied(net):`."""
    for event in walk.trace.events:
        if isinstance(event, Call) and any(
            scope.kind == "with" and scope.node is swap.site.node for scope in event.scopes()
        ):
            yield event


def _may_measure(walk: Walk, event: Call) -> bool:
    """Whether anything but a save happens: a network is run, or handed to what is not followed."""
    return not set(words(event.name)) & SAVING and event.name not in BOOKKEEPING and not _swaps(walk, event)


def _swaps(walk: Walk, event: Call) -> bool:
    owner = event.within[-1].owner if event.within else None
    if owner is not None and class_role(walk.trace.run.index, owner) is Role.AVERAGE:
        return False  # how an average does it
    if event.name == "load_state_dict" or event.name.endswith("_"):
        return _is_into_another(event)
    if event.name in BOOKKEEPING:
        return False
    if receiver_role(walk.trace.run, event) is Role.AVERAGE and event.receiver is not None:
        return True
    return bool(SWAPPING & set(words(event.name))) and _says_average(names_in(event.site.node))


def _is_into_another(event: Call) -> bool:
    """`net.load_state_dict(ema.state_dict())`, `p.copy_(shadow[name])`, and not the other way round."""
    node = event.site.node
    if not isinstance(node, ast.Call):
        return False
    given = (name for arg in node.args for name in names_in(arg))
    is_written = event.name in {"load_state_dict", "copy_", "set_"}
    return is_written and _says_average(given) and not _says_average(names_in(node.func))


def _is_used_between(walk: Walk, swap: Call, end: int) -> bool:
    """Whether anything runs or is handed the network before the weights are taken out again."""
    for event in walk.trace.events[walk.place(swap) + 1 : end]:
        if not isinstance(event, Call) or len(event.within) > len(swap.within) or _swaps(walk, event):
            continue
        if _may_measure(walk, event):
            return True
    return False


def measures_average(evaluation: Evaluation) -> bool:
    """Whether an evaluation runs an average, or speaks of one."""
    walk = evaluation.walk
    trained = {id(n) for move in _training_runs(walk) for n in networks(called_network(move))}
    for network in networks(evaluation.network):
        if role_of(walk.trace.run, network) is Role.AVERAGE or id(network) not in trained:
            return True
    return any(_says_average(names_in(node)) for node in _spoken(evaluation))


def _spoken(evaluation: Evaluation) -> Iterator[ast.AST]:
    """The pieces of source that say what an evaluation is about."""
    yield evaluation.forward.event.site.node
    for scope in evaluation.region:
        if id(scope.node) not in evaluation.walk.training_nodes:
            yield scope.node  # a function that trains too speaks of the average for that
        if scope.kind == "call":
            call = evaluation.walk.call_of(scope)
            if call is not None:
                yield call.site.node


def _says_average(names: Iterator[str]) -> bool:
    return any(AVERAGE_WORDS & set(words(name)) for name in names)


def chosen_at(evaluation: Evaluation) -> tuple[Site, ...]:
    """Where an evaluation got its network: the calls that hand it in, outermost first, and the run itself."""
    event = evaluation.forward.event
    sites = [event.site]
    node = event.site.node
    written = node.func if isinstance(node, ast.Call) else None
    scopes = [scope for scope in event.scopes() if scope.kind == "call"]
    for scope in scopes:
        if not isinstance(written, ast.Name) or not _is_parameter(written.id, scope):
            break
        call = evaluation.walk.call_of(scope)
        if call is None:
            break
        sites.insert(0, call.site)
        written = _handed_in(call, evaluation.network)
    return tuple(sites)


def _is_parameter(name: str, scope: Scope) -> bool:
    spec = getattr(scope.node, "args", None)
    if not isinstance(spec, ast.arguments):
        return False
    return name in {arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}


def _handed_in(call: Call, network: Value | None) -> ast.expr | None:
    node = call.site.node
    if not isinstance(node, ast.Call):
        return None
    for written, value in zip(node.args, call.args, strict=False):
        if is_same_network(value, network):
            return written
    for keyword in node.keywords:
        if keyword.arg is not None and is_same_network(call.keywords.get(keyword.arg), network):
            return keyword.value
    return None


def _is_of_copy(load: Call) -> bool:
    """Whether weights come back into something that holds a copy: `avg.net.load_state_dict(saved["avg"])`."""
    return any(
        {"avg", "average", "averages", "mean", "slow"} & set(words(n)) for n in names_in(load.site.node)
    )


def mentions_average(calls: Iterable[Call]) -> bool:
    """Whether any of these calls, or a loop or branch around it, speaks of an average."""
    for call in calls:
        if _says_average(names_in(call.site.node)) or _is_of_copy(call):
            return True
        if any(s.kind in {"if", "with"} and _says_average(names_in(s.node)) for s in call.scopes()):
            return True
    return False
