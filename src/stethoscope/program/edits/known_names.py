"""The name under which an object is known at a place of the source, so that a fix can speak of it there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.edits.statements import is_known_at, is_name_chain
from stethoscope.program.evaluation.evaluations import Walk
from stethoscope.program.loop.moves import same_object
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Assignment, Call, Event
from stethoscope.program.walk.values import Value


def name_at(walk: Walk, value: Value | None, event: Event) -> str:
    """What an object is called where an event takes place; "" where it surely has no name there yet."""
    if value is None:
        return ""
    names = (*_assigned(walk, value, event), *_handed_in(walk, value, event), *_used(walk, value, event))
    return next(iter(names), "")


def _assigned(walk: Walk, value: Value, event: Event) -> Iterator[str]:
    """The names it was kept under before, in the same function, in its module or in its object."""
    for one in walk.trace.events[: walk.place(event)]:
        if not isinstance(one, Assignment) or one.operator or not same_object(one.value, value):
            continue
        if is_name_chain(one.target) and _is_within_reach(one, event):
            yield ast.unparse(one.target)


def _is_within_reach(made: Assignment, event: Event) -> bool:
    source = made.site.source
    if source is not event.site.source:
        return False
    if made.within == event.within:
        return is_known_at(source, made.site.node, event.site.node)
    if not made.within and isinstance(made.target, ast.Name):
        return is_known_at(source, made.site.node, event.within[0].node)
    return _is_of_same_object(made, event)


def _is_of_same_object(made: Assignment, event: Event) -> bool:
    """`self.optimizer`, in two methods of one class."""
    if not made.within or not event.within or made.within[-1].owner is None:
        return False
    is_own = ast.unparse(made.target).startswith("self.")
    return is_own and made.within[-1].owner is event.within[-1].owner and not _is_conditional(made)


def _is_conditional(made: Assignment) -> bool:
    for scope in made.scopes():
        if scope.kind == "call":
            return False
        if scope.kind in {"if", "loop"}:
            return True
    return False


def _handed_in(walk: Walk, value: Value, event: Event) -> Iterator[str]:
    """The parameters of the function that it was given as."""
    if not event.within:
        return
    function = event.within[-1]
    entered = next((s for s in event.scopes() if s.kind == "call" and s.node is function.node), None)
    call = walk.call_of(entered) if entered is not None else None
    if call is None:
        return
    names = function.parameters[1:] if function.owner is not None else function.parameters
    given = [*zip(names, call.args, strict=False), *call.keywords.items()]
    changed = {
        node.id for node in all_nodes(function.node) if _is_stored(node) and isinstance(node, ast.Name)
    }
    yield from (
        name for name, one in given if name in names and name not in changed and same_object(one, value)
    )


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _used(walk: Walk, value: Value, event: Event) -> Iterator[str]:
    """The name it is called by in the same function, where that name is already bound: `optimizer.step()`."""
    for one in walk.trace.events:
        if not isinstance(one, Call) or one.within != event.within or one.receiver is None:
            continue
        node = one.site.node
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        written = node.func.value
        if (
            isinstance(written, ast.Name)
            and same_object(one.receiver, value)
            and _is_bound(walk, written.id, event)
        ):
            yield written.id


def _is_bound(walk: Walk, name: str, event: Event) -> bool:
    for one in walk.trace.events[: walk.place(event)]:
        if (
            isinstance(one, Assignment)
            and one.within == event.within
            and one.site.source is event.site.source
        ):
            stored = {node.id for node in all_nodes(one.target, ast.Name)}
            if name in stored and is_known_at(one.site.source, one.site.node, event.site.node):
                return True
    return False
