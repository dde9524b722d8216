"""Averages that are put into the trained network to measure it, and never taken out again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.evaluation.averages import AVERAGE_WORDS, TAKING_OUT
from stethoscope.program.evaluation.evaluations import EVALUATION_WORDS, Walk, called_network, names_in
from stethoscope.program.index import Function, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.moves import Kind, Move, receiver_role
from stethoscope.program.loop.roles import Role, class_role
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.events import Call, Scope
from stethoscope.program.walk.networks import is_same_network
from stethoscope.program.walk.values import Applied, Constant, Instance, Value

PUTTING_IN = frozenset(
    {"apply_shadow", "copy_to", "apply_to", "swap_in", "apply_ema", "load_ema", "assign_to"}
)
PUTTING_BACK = TAKING_OUT | {"swap", "backup", "raw", "online", "saved", "stored", "before", "live"}
SHOWING = EVALUATION_WORDS | {"sample", "sampling", "generate"}
KEPT = frozenset({"backup", "stored", "saved", "collected", "raw", "kept"})
DECAYS = frozenset({"decay", "tau", "beta", "momentum", "alpha", "rate"})
MEMORIES = 1.0  # a switch that comes sooner than once in the average's memory keeps training where it was


@dataclass(frozen=True, slots=True, eq=False)
class LeftIn:
    """Where an average goes into the network that is trained, and what is done with it there, if anything.

    `often` says that it comes again before the average has had time to forget what it was.
    """

    put_in: Call
    measured: Call | None
    often: bool = False


def averages_left_in(walk: Walk) -> Iterator[LeftIn]:
    """The averages that stay in the trained network when training goes on."""
    calls = [event for event in walk.trace.events if isinstance(event, Call)]
    for place, event in enumerate(calls):
        if not _puts_in(walk, event) or not _is_trained_on_after(walk, event):
            continue
        if any(_takes_out(walk, later) for later in calls[place + 1 :]) or _is_held(event):
            continue
        runs = {id(one.forward.event) for one in walk.evaluations}
        shown = (one for one in calls[place + 1 :] if SHOWING & set(words(one.name)) or id(one) in runs)
        measured = next(shown, None)
        yield LeftIn(event, measured, _comes_too_often(walk, event))


def _comes_too_often(walk: Walk, event: Call) -> bool:
    """Whether an average goes in more often than once in the number of steps that it remembers."""
    period = _period(walk, event)
    decays = [one for one in _decays(walk, event) if 0.0 < one < 1.0]
    if period is None:
        return False
    return period * (1.0 - max(decays)) < MEMORIES if decays else period == 1.0


def _period(walk: Walk, event: Call) -> float | None:
    """The steps of training between two of these calls, None where they are not known."""
    conditions = [one for one in _within_round(walk, event) if one.kind == "if"]
    if any(one.kind == "loop" for one in _within_round(walk, event)):
        return None
    if not conditions:
        return 1.0
    match conditions[0].value if len(conditions) == 1 and conditions[0].arm else None:
        case Applied(callee="==", args=(Applied(callee="%", args=(_, Constant(value=int() as every))), _)):
            return float(every)
    return None


def _within_round(walk: Walk, event: Call) -> Iterator[Scope]:
    """The scopes around a call inside the innermost loop that takes steps."""
    steps = {
        id(scope)
        for one in walk.trace.events
        if isinstance(one, Call) and one.name == "backward"
        for scope in next(([each] for each in one.scopes() if each.kind == "loop"), [])
    }
    for scope in event.scopes():
        if id(scope) in steps:
            return
        if scope.kind in {"if", "loop"}:
            yield scope
    yield from (one for one in event.scopes() if one.kind == "loop")  # it is in no loop that takes steps


def _decays(walk: Walk, event: Call) -> Iterator[float]:
    for average in _averages(walk, event):
        for name, value in average.attributes.items():
            is_decay = DECAYS & set(words(name))
            if is_decay and isinstance(value, Constant) and isinstance(value.value, float):
                yield value.value


def _averages(walk: Walk, event: Call) -> Iterator[Instance]:
    """The averages that a call takes weights from: its receiver, or the owner of what it is given."""
    given = [event.receiver, *event.args]
    given += [one.args[0] for one in event.args if isinstance(one, Applied) and one.callee == ".state_dict"]
    seen: set[int] = set()
    for one in walk.trace.events:
        holder = one.receiver if isinstance(one, Call) else None
        if not isinstance(holder, Instance) or id(holder) in seen:
            continue
        seen.add(id(holder))
        held = (holder, *holder.attributes.values())
        is_meant = any(part is each for part in held for each in given if each is not None)
        if is_meant and class_role(walk.trace.run.index, holder.cls) is Role.AVERAGE:
            yield holder


def _writes_into_argument(function: Function) -> bool:
    """Whether a method of an average gives its weights to a network: `p.data.copy_(self.shadow[n])`."""
    if _loads_into_argument(function):
        return True
    for loop in own_nodes(function.node, ast.For):
        own, others = _handed_out(loop)
        for into, given in _writings(loop):
            root = next((one.id for one in all_nodes(into, ast.Name)), "")
            names = {one.id for one in all_nodes(given, ast.Name)}
            said = {word for one in all_nodes(given, ast.Attribute) for word in words(one.attr)}
            is_own = bool(names & own) or ("self" in names and not said & DECAYS)
            if root in others and is_own and not names & others and not said & KEPT:
                return True
    return False


def _loads_into_argument(function: Function) -> bool:
    """`model.load_state_dict(self.shadow)`."""
    for call in own_nodes(function.node, ast.Call):
        match call:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=into), attr="load_state_dict"), args=[given, *_]
            ):
                own = [one for one in all_nodes(given, ast.Attribute) if dotted(one) == f"self.{one.attr}"]
                said = {word for one in own for word in words(one.attr)}
                if into in function.parameters and into != "self" and own and not said & KEPT:
                    return True
    return False


def _handed_out(loop: ast.For) -> tuple[set[str], set[str]]:
    """The names under which a loop hands out what the object has, and what the network has."""
    own: set[str] = set()
    others: set[str] = set()
    targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
    over = [loop.iter] * len(targets)
    if isinstance(loop.iter, ast.Call) and bare_name(loop.iter) == "zip":
        over = loop.iter.args
    for target, each in zip(targets, over, strict=False):
        names = {one.id for one in all_nodes(target, ast.Name)}
        called = {bare_name(one) for one in all_nodes(each, ast.Call)}
        if "self" in {one.id for one in all_nodes(each, ast.Name)}:
            own |= names
        elif called & {"parameters", "named_parameters"}:
            others |= names
    return own, others


def _writings(loop: ast.For) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What a loop writes to, and what it writes there."""
    for node in all_nodes(loop):
        match node:
            case ast.Call(func=ast.Attribute(value=into, attr="copy_"), args=[given, *_]):
                yield into, given
            case ast.Assign(targets=[ast.Attribute(attr="data") as into], value=given):
                yield into, given


def _puts_in(walk: Walk, event: Call) -> bool:
    owner = event.within[-1].owner if event.within else None
    if owner is not None and class_role(walk.trace.run.index, owner) is Role.AVERAGE:
        return False  # how an average does it
    if isinstance(event.receiver, Instance) and event.receiver.cls.methods.get(event.name) is not None:
        method = event.receiver.cls.methods[event.name]
        is_average = receiver_role(walk.trace.run, event) is Role.AVERAGE
        named = set(words(event.name))
        if is_average and not named & PUTTING_BACK and _writes_into_argument(method):
            return any(_is_trained(walk, one) for one in (*event.args, *event.keywords.values()))
    if event.name in PUTTING_IN and receiver_role(walk.trace.run, event) is Role.AVERAGE:
        handed = (*event.args, *event.keywords.values())
        return not handed or any(_is_trained(walk, one) for one in handed)
    if event.name != "load_state_dict" or not isinstance(event.site.node, ast.Call):
        return False
    given = {name for arg in event.site.node.args for name in names_in(arg)}
    into = set(names_in(event.site.node.func))
    is_average = _says(given) or any(True for _ in _averages(walk, event))
    return is_average and not _says(into) and _is_trained(walk, event.receiver)


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
    """Whether an average is in the network only inside a `with`."""
    if any(scope.kind == "with" and scope.node is event.site.node for scope in event.scopes()):
        return True
    nodes = list(own_nodes(event.within[-1].node)) if event.within else []
    loads = [node.lineno for node in nodes if isinstance(node, ast.Call) and bare_name(node) == event.name]
    given = (node.lineno for node in nodes if isinstance(node, ast.Yield))
    return any(min(loads) < line < max(loads) for line in given if loads)  # a context manager puts back
