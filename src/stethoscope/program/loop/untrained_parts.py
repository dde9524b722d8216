"""The parts of a network that stay at their random start: left out of every optimizer, or frozen.

`Adam(model.head.parameters())` trains a head on a body that nothing ever taught. It is what one does with a
body that learnt before; `random_start` says where that cannot be.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass

from stethoscope.program.loop.configured_optimizers import configured_optimizers
from stethoscope.program.loop.left_out_beside import first_use, methods_reached
from stethoscope.program.loop.loop_holders import known_holders, losses_of
from stethoscope.program.loop.parameter_owners import (
    Holder,
    has_weights,
    is_inside,
    networks_in,
    owners_of,
    unwrapped,
)
from stethoscope.program.loop.random_start import starts_at_random
from stethoscope.program.loop.roles import Role, class_role
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.ancestry import cuts_gradient
from stethoscope.program.walk.events import Assignment, Call, Event, Scope
from stethoscope.program.walk.values import Applied, Constant, Instance, Items, Value
from stethoscope.run import Where

DEEPEST = 3  # networks inside networks


@dataclass(frozen=True, slots=True, eq=False)
class UntrainedPart:
    """A part, the network it is of, what keeps it from learning, and where it is used or named.

    `condition` is the choice of parameters by which only some of the part learn.
    """

    network: Instance
    name: str
    keeping: Event
    where: Where
    condition: str = ""


def left_out_parts(loop: TrainingLoop) -> Iterator[UntrainedPart]:
    """The parts that a loss goes through and that no optimizer has, in networks of which one has others."""
    held = _holders(loop)
    owners = [owner for one in held for owner in one.owners]

    def is_held(part: Value) -> bool:
        return any(is_inside(loop.run, owner, part) or is_inside(loop.run, part, owner) for owner in owners)

    for network in _networks(loop) if held else ():
        if any(is_inside(loop.run, network, owner) for owner in owners):
            continue
        if any(is_inside(loop.run, owner, network) for owner in owners):
            yield from _left_out(loop, network, is_held, held[0].call, DEEPEST)


def _holders(loop: TrainingLoop) -> list[Holder]:
    if loop.hook is None or loop.trace.by_hand:
        return known_holders(loop)
    return list(configured_optimizers(loop.trace)) or known_holders(loop)


def _networks(loop: TrainingLoop) -> Iterator[Instance]:
    """The networks of the program that a loss goes through, each once."""
    seen: set[int] = set()
    module = loop.trace.module
    if module is not None and loop.hook is not None and class_role(loop.run.index, module.cls) is Role.MODEL:
        seen.add(id(module))
        yield module
    for loss in losses_of(loop):
        for network, _ in networks_in(loop.run, loss, cuts_gradient):
            if isinstance(network, Instance) and id(network) not in seen:
                seen.add(id(network))
                yield network


def _left_out(
    loop: TrainingLoop, network: Instance, is_held: Callable[[Value], bool], made: Call, depth: int
) -> Iterator[UntrainedPart]:
    is_hook = network is loop.trace.module and loop.hook is not None
    forward = loop.hook if is_hook else loop.run.index.method(network.cls, "forward")
    if forward is None or depth == 0:
        return
    methods = methods_reached(loop.run, network, forward)
    frozen = _frozen_before(loop)
    for name, part in network.attributes.items():
        where = first_use(methods, name) if _learns(loop, part) else None
        if where is None:
            continue
        if not is_held(part):
            if id(part) not in frozen and starts_at_random(loop, network, part, name):
                yield UntrainedPart(network, name, made, where)
        elif isinstance(part, Instance):
            yield from _left_out(loop, part, is_held, made, depth - 1)


def _learns(loop: TrainingLoop, part: Value) -> bool:
    """Whether a part has weights to learn; a ModuleList has those of its layers."""
    layers = part.items if isinstance(part, Items) else (part,)
    return any(has_weights(loop.run, layer) for layer in layers)


# Frozen


def frozen_parts(loop: TrainingLoop) -> Iterator[UntrainedPart]:
    """The parts of a network whose gradients are switched off before the loop, and never on again."""
    networks = list(_networks(loop))
    frozen = _frozen_before(loop) if networks and not _unfreezes(loop) else {}
    for part, event in frozen.values():
        if not _is_certain(loop, event) or _is_of_network(loop, event):
            continue
        for network in networks:
            yield from _of_network(loop, event, part, network, frozen.keys())


def _frozen_before(loop: TrainingLoop) -> dict[int, tuple[Value, Event]]:
    """What is frozen before the loop, by the identity of it."""
    inside = {id(event) for event in loop.events}
    found: dict[int, tuple[Value, Event]] = {}
    for event in loop.trace.events:
        if id(event) not in inside:
            for part in _frozen(loop, event):
                found.setdefault(id(part), (part, event))
    return found


def _of_network(
    loop: TrainingLoop, event: Event, part: Value, network: Instance, frozen: Container[int]
) -> Iterator[UntrainedPart]:
    condition = _choice(event)
    if condition and part is network:
        if starts_at_random(loop, network, network, network.cls.name):
            yield UntrainedPart(network, "", event, event.site.where, condition)
        return
    if condition or part is network or not is_inside(loop.run, part, network):
        return
    name = next((name for name, value in network.attributes.items() if value is part), "")
    if not name or not _learns(loop, part) or not _feeds_learning(loop, network, name, frozen):
        return
    if starts_at_random(loop, network, part, name):
        yield UntrainedPart(network, name, event, event.site.where)


def _feeds_learning(loop: TrainingLoop, network: Instance, name: str, frozen: Container[int]) -> bool:
    """Whether a part that learns runs behind this one: a last layer may be kept as it is on purpose."""
    forward = loop.run.index.method(network.cls, "forward")
    order = _order_of_use(forward.node) if forward is not None else []
    behind = order[order.index(name) + 1 :] if name in order else []
    parts = (network.attributes.get(other) for other in behind)
    return any(one is not None and id(one) not in frozen and _learns(loop, one) for one in parts)


def _order_of_use(forward: ast.AST) -> list[str]:
    """The attributes that a forward pass uses, in the order of the lines."""
    used = [
        (node.lineno, -node.col_offset, node.attr)
        for node in all_nodes(forward, ast.Attribute)
        if isinstance(node.value, ast.Name) and node.value.id == "self"
    ]
    return [name for _, _, name in sorted(used)]


def _frozen(loop: TrainingLoop, event: Event) -> Iterator[Value]:
    """What an event freezes: `part.requires_grad_(False)`, or each of `part.parameters()` in a loop."""
    if isinstance(event, Call) and event.name == "requires_grad_" and event.receiver is not None:
        given: Value | None = event.argument(0, "requires_grad")
        owners = [one for one in unwrapped(event.receiver) if isinstance(one, Instance | Applied | Items)]
        if _is_false(given) and owners and all(_learns(loop, one) for one in owners):
            yield from owners
            return
    elif isinstance(event, Assignment) and getattr(event.target, "attr", "") == "requires_grad":
        given = event.value
    else:
        return
    around = _loop_around(event)
    if around is not None and given is not None and (_is_false(given) or _choice(event)):
        owners_given, is_known = owners_of(loop.run, around.value)
        yield from owners_given if is_known else ()


def _is_false(value: Value | None) -> bool:
    return isinstance(value, Constant) and value.value is False


def _loop_around(event: Event) -> Scope | None:
    return next((scope for scope in event.scopes() if scope.kind == "loop"), None)


def _choice(event: Event) -> str:
    """The question by which a loop over parameters leaves some of them trainable."""
    around = _loop_around(event)
    if around is None or not isinstance(around.node, ast.For):
        return ""
    told = {node.id for node in all_nodes(around.node.target, ast.Name)}
    written = event.site.node
    given: ast.expr | None = None
    if isinstance(written, ast.Call) and written.args:
        given = written.args[0]
    elif isinstance(event, Assignment) and isinstance(written, ast.expr):
        given = written
    if given is not None and not isinstance(given, ast.Constant):
        return ast.unparse(given) if told & _names(given) else ""
    for scope in event.scopes():
        if scope is around:
            return ""
        if scope.kind == "if" and told & _names(scope.node):
            asked = ast.unparse(scope.node)
            return f"not ({asked})" if scope.arm else asked
    return ""


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in all_nodes(node, ast.Name)}


def _is_certain(loop: TrainingLoop, event: Event) -> bool:
    """Whether an event happens in every run that trains: under no condition that the loop is not under."""
    body = loop.body
    shared = {id(scope) for scope in body.outwards()} if body is not None else set()
    for scope in event.scopes():
        if scope.kind == "if" and id(scope) not in shared and not _asks_parameter(event, scope):
            return False
    return True


def _asks_parameter(event: Event, scope: Scope) -> bool:
    around = _loop_around(event)
    return around is not None and around in scope.outwards()


def _is_of_network(loop: TrainingLoop, event: Event) -> bool:
    """Whether the class of a network freezes: a filter, an encoding of positions, a module's own plan."""
    classes = [one.owner for one in event.within if one.owner is not None]
    return any(class_role(loop.run.index, cls) is Role.MODEL for cls in classes)


def _unfreezes(loop: TrainingLoop) -> bool:
    """Whether anything in the program lets weights learn again."""
    for source in loop.run.index.program:
        for node in all_nodes(source.tree) if "requires_grad" in source.text else ():
            match node:
                case ast.Call(func=ast.Attribute(attr="requires_grad_"), args=args, keywords=[]):
                    if not args or (isinstance(args[0], ast.Constant) and args[0].value is True):
                        return True
                case ast.Assign(
                    targets=[ast.Attribute(attr="requires_grad")], value=ast.Constant(value=True)
                ):
                    return True
    return False
