"""What a loop keeps from one round to the next: running sums, and lists that grow."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.events import Assignment, Call, Event
from stethoscope.program.values import Applied, Items, Value

GROWING = frozenset({"append", "appendleft", "add", "insert"})


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """A value that is added to something that outlives the round.

    `name` is what it is added to, `written` the expression that is kept, `container` the list if it is one.
    """

    event: Assignment | Call
    value: Value
    name: str
    written: ast.expr
    container: Value | None = None


def kept_values(events: Sequence[Event]) -> Iterator[Kept]:
    """Each value that the events of a round add to what the round did not begin."""
    events = tuple(events)
    begun = {_place(event, event.target) for event in events if _begins(event)}  # type: ignore[attr-defined]
    for event in events:
        if isinstance(event, Assignment):
            kept = _added(event)
        elif isinstance(event, Call):
            kept = _appended(event)
        else:
            continue
        if kept is not None and (kept.name, _owner(event)) not in begun:
            yield kept


def _begins(event: Event) -> bool:
    """Whether an assignment starts its target anew."""
    return isinstance(event, Assignment) and not event.operator and _added(event) is None


def _place(event: Event, target: ast.expr) -> tuple[str, object]:
    return ast.unparse(target), _owner(event)


def _owner(event: Event) -> object:
    """Attributes belong to a class, names to a function."""
    inside = event.within[-1] if event.within else None
    return (inside.owner or inside) if inside is not None else None


def _added(event: Assignment) -> Kept | None:
    """`total += x`, `total = total + x`."""
    target = ast.unparse(event.target)
    node = event.site.node
    if event.operator == "+" and isinstance(node, ast.AugAssign):
        return Kept(event, event.value, target, node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(event.value, Applied):
        left, right = node.left, node.right
        if ast.unparse(left) == target and len(event.value.args) == 2:
            return Kept(event, event.value.args[1], target, right)
        if ast.unparse(right) == target and len(event.value.args) == 2:
            return Kept(event, event.value.args[0], target, left)
    return None


def _appended(call: Call) -> Kept | None:
    node = call.site.node
    if call.name not in GROWING or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if not node.args or not call.args or _is_bounded(call.receiver):
        return None
    container = call.receiver if isinstance(call.receiver, Items) else None
    return Kept(call, call.args[-1], ast.unparse(node.func.value), node.args[-1], container)


def _is_bounded(receiver: Value | None) -> bool:
    """`deque(maxlen=n)` lets go of what is old; an object of some class does what it likes."""
    if isinstance(receiver, Applied):
        return (
            "maxlen" in receiver.keywords or len(receiver.args) > 1 or not receiver.callee.endswith("deque")
        )
    return False
