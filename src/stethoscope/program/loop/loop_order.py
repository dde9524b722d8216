"""What the order of moves on the paths of a training loop says."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from stethoscope.program.index import dotted
from stethoscope.program.loop.moves import Kind, Move, receiver_role, same_object
from stethoscope.program.loop.parameter_owners import (
    Holder,
    holder_of,
    is_inside,
    network_given,
    unwrapped,
)
from stethoscope.program.loop.roles import Role, role_of
from stethoscope.program.loop.training_loop import Path, TrainingLoop, condition
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Assignment, Call, Event, Jump, Scope
from stethoscope.program.walk.values import Applied, Choice, Constant, Outside, Value


def questions(loop: TrainingLoop, event: Event) -> frozenset[tuple[str, bool]]:
    """The conditions between a loop's body and an event, each with the answer that leads to it.

    What comes after `if not ready: continue` is under the condition `ready`.
    """
    known = _answers(loop)
    if id(event) not in known:
        known[id(event)] = (_questions(loop, event), event)
    return known[id(event)][0]


@remembered
def _answers(loop: TrainingLoop) -> dict[int, tuple[frozenset[tuple[str, bool]], Event]]:
    """What was asked before of this loop; events are kept beside their ids."""
    return {}


def _questions(loop: TrainingLoop, event: Event) -> frozenset[tuple[str, bool]]:
    found = set(_asked(loop, event))
    order = _positions(loop)
    here = order.get(id(event), len(order))
    around = {id(scope) for scope in event.scopes()}
    for jump, asked in _jumps(loop):
        if order[id(jump)] > here:
            break
        if jump.leaves is not None and id(jump.leaves) in around:
            own = asked - found
            if len(own) == 1:
                ((question, answer),) = own
                found.add((question, not answer))
    return frozenset(found)


def _asked(loop: TrainingLoop, event: Event) -> frozenset[tuple[str, bool]]:
    found: set[tuple[str, bool]] = set()
    for scope in event.scopes():
        if scope is loop.body:
            break
        if scope.kind == "if":
            found.add(condition(scope))
    return frozenset(found)


@remembered
def _positions(loop: TrainingLoop) -> dict[int, int]:
    return {id(event): position for position, event in enumerate(loop.events)}


@remembered
def _jumps(loop: TrainingLoop) -> list[tuple[Jump, frozenset[tuple[str, bool]]]]:
    return [(event, _asked(loop, event)) for event in loop.events if isinstance(event, Jump)]


def go_together(loop: TrainingLoop, one: Move, other: Move) -> bool:
    """Whether one of two moves is never met without the other: one's conditions include the other's.

    Two unrelated conditions may never be met in one round, so a path through both proves nothing.
    """
    left, right = questions(loop, one.event), questions(loop, other.event)
    return left <= right or right <= left


def surely_same(one: Value | None, other: Value | None) -> bool:
    """Whether two values are certainly the same object."""
    if one is None or other is None:
        return False
    return one is other or (
        isinstance(one, Choice) and isinstance(other, Choice) and set(one.options) == set(other.options)
    )


def optimizers_of(loop: TrainingLoop) -> list[Value | None]:
    """The optimizers that a loop steps, each once."""
    found: list[Value | None] = []
    for move in loop.moves:
        if move.updates and not any(surely_same(move.subject, one) for one in found):
            found.append(move.subject)
    return found


def clears(loop: TrainingLoop, zero: Move, update: Move) -> bool:
    """Whether clearing takes the gradients that an update is about to use."""
    if surely_same(zero.subject, update.subject):
        return True
    by_optimizer = isinstance(zero.event, Call) and receiver_role(loop.run, zero.event) is Role.OPTIMIZER
    if by_optimizer:
        return False
    made = holder_of(loop.trace, update.subject)
    if made and zero.subject is not None:
        return all(cleared in one.owners for one in made for cleared in unwrapped(zero.subject))
    if not made and _is_of_one_tensor(zero):
        return False  # the optimizer may hold others: an attack clears its input's beside a network's step
    return len(optimizers_of(loop)) == 1 and (zero.subject is not None or _clears_every_one(loop, zero, made))


def _is_of_one_tensor(zero: Move) -> bool:
    """`self.noise.grad.zero_()`, `x.grad = None`: of a tensor that no loop goes through others to."""
    node = zero.event.site.node
    cleared = zero.event.target if isinstance(zero.event, Assignment) else getattr(node, "func", None)
    if isinstance(cleared, ast.Attribute) and cleared.attr != "grad":
        cleared = cleared.value
    if not isinstance(cleared, ast.Attribute) or cleared.attr != "grad":
        return False
    over = (getattr(scope.node, "target", None) for scope in zero.event.scopes() if scope.kind == "loop")
    gone_through = {one.id for target in over if target for one in all_nodes(target, ast.Name)}
    first = (dotted(cleared.value) or "").partition(".")[0]
    return bool(first) and first not in gone_through


def _clears_every_one(loop: TrainingLoop, zero: Move, made: tuple[Holder, ...]) -> bool:
    """Whether clearing by hand, one parameter after the other, leaves none of an optimizer's out.

    `for p in frozen: p.grad = None` and `if "head" in name: p.grad = None` clear a part on purpose.
    """
    asked = list(itertools.takewhile(lambda scope: scope.kind not in {"loop", "call"}, zero.event.scopes()))
    if any(scope.kind == "if" and not _asks_for_gradient(scope.node) for scope in asked):
        return False
    around = list(itertools.islice(zero.event.scopes(), len(asked), None))
    if not around or around[0].kind != "loop" or around[0] is loop.body:
        return True  # one tensor, which is all there is
    owners = network_given(loop.run, around[0].value)
    if owners is None:
        return _is_of_groups(around[0])
    return all(
        any(is_inside(loop.run, held, owner) for owner in owners) for one in made for held in one.owners
    )


def _asks_for_gradient(test: ast.AST) -> bool:
    """`p.grad is not None`, `p.requires_grad`: what has no gradient has none to clear."""
    return any(isinstance(node, ast.Attribute) and "grad" in node.attr for node in all_nodes(test))


def _is_of_groups(scope: Scope) -> bool:
    """`for p in group["params"]`, of an optimizer's groups."""
    over = getattr(scope.node, "iter", scope.node)
    return any(isinstance(node, ast.Constant) and node.value == "params" for node in all_nodes(over))


def may_clear(loop: TrainingLoop, zero: Move, update: Move) -> bool:
    """Whether clearing could be that of the gradients an update uses: it is not surely another's."""
    if zero.subject is None or same_object(zero.subject, update.subject):
        return True
    if isinstance(zero.event, Call) and receiver_role(loop.run, zero.event) is Role.OPTIMIZER:
        known = holder_of(loop.trace, zero.subject) and holder_of(loop.trace, update.subject)
        return not known
    made = holder_of(loop.trace, update.subject)
    if not made or not all(one.is_known for one in made):
        return True
    return any(
        is_inside(loop.run, owner, cleared) or is_inside(loop.run, cleared, owner)
        for one in made
        for owner in one.owners
        for cleared in unwrapped(zero.subject)
    )


def moves_between(path: Path, first: Move, last: Move) -> tuple[Move, ...]:
    """What a path meets after one move and before another."""
    start, end = path.moves.index(first), path.moves.index(last)
    return path.moves[start + 1 : end]


def last_before(path: Path, move: Move, *kinds: Kind) -> Move | None:
    """The nearest move of some kinds that a path meets before another."""
    earlier = path.moves[: path.moves.index(move)]
    return next((one for one in reversed(earlier) if one.kind in kinds), None)


def sets_gradients(loop: TrainingLoop) -> bool:
    """Whether the loop writes gradients by hand: what clearing leaves is then not what is stepped with."""
    return any(_writes_gradient(event) for event in loop.events)


def _writes_gradient(event: Event) -> bool:
    if isinstance(event, Assignment):
        is_grad = isinstance(event.target, ast.Attribute) and event.target.attr == "grad"
        return is_grad and not (isinstance(event.value, Constant) and event.value.value is None)
    if isinstance(event, Call) and event.name in {"copy_", "add_", "set_", "mul_", "div_"}:
        return "grad" in _written(event)
    return False


def _written(call: Call) -> tuple[str, ...]:
    """The names that a call's object is written with: p, grad, data."""
    node = call.site.node
    func = node.func if isinstance(node, ast.Call) else None
    name = dotted(func.value) if isinstance(func, ast.Attribute) else None
    return tuple(name.split(".")) if name else ()


def only_measures(move: Move) -> bool:
    """Whether a clip has no limit, and is there for the norm it gives back."""
    call = move.event
    if not isinstance(call, Call):
        return False
    limit = call.argument(1, "max_norm")
    if isinstance(limit, Outside):
        return limit.name.rpartition(".")[2] in {"inf", "infty", "Inf"}
    if isinstance(limit, Applied) and limit.callee == "float" and limit.args:
        limit = limit.args[0]
    if not isinstance(limit, Constant):
        return False
    return limit.value in {"inf", "Infinity"} or (
        isinstance(limit.value, int | float) and limit.value >= HUGE
    )


HUGE = 1e9  # a limit that no gradient meets


def scaled_by(loop: TrainingLoop) -> Iterator[Call]:
    """The calls that scale a loss: `scaler.scale(loss)`."""
    for event in loop.events:
        if not isinstance(event, Call) or event.name != "scale" or len(event.args) != 1:
            continue
        if role_of(loop.run, event.receiver) in {Role.SCALER, None}:
            yield event


def is_switched_off(scaler: Value | None) -> bool:
    """Whether a scaler was made with enabled=False."""
    if not isinstance(scaler, Applied):
        return False
    switch = scaler.keywords.get("enabled")
    return isinstance(switch, Constant) and switch.value is False
