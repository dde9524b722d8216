"""Ways through the events of a walk on which an early `return`, `break` or `continue` skips what follows."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Function
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Event, Jump, Scope

LEAVING = frozenset({"__exit__", "__aexit__"})


@dataclass(frozen=True, slots=True, eq=False)
class ShortCut:
    """A jump under a condition: what comes later inside `leaves` is not reached where it is taken."""

    jump: Jump
    leaves: Scope

    def skips(self, event: Event) -> bool:
        """Whether an event after the jump is not reached; the end of a `with` always is."""
        if not any(scope is self.leaves for scope in event.scopes()):
            return False
        return not any(_ends_context(function) for function in event.within)

    def excludes(self, event: Event) -> bool:
        """Whether an event is in the other branch of a condition that the jump is under."""
        arms = {id(scope.node): scope.arm for scope in self.jump.scopes() if scope.kind == "if"}
        return any(
            scope.kind == "if" and arms.get(id(scope.node), scope.arm) is not scope.arm
            for scope in event.scopes()
        )


def short_cuts(events: Sequence[Event]) -> Iterator[ShortCut]:
    """The jumps that are taken under a condition and after which nothing else is sure to happen."""
    for event in events:
        if not isinstance(event, Jump) or event.leaves is None or event.kind == "raise":
            continue
        inside = _between(event, event.leaves)
        if any(scope.kind == "if" for scope in inside) and not _is_in_try(event):
            yield ShortCut(event, event.leaves)


def _between(event: Event, outer: Scope) -> Iterator[Scope]:
    for scope in event.scopes():
        if scope is outer:
            return
        yield scope


def _is_in_try(jump: Jump) -> bool:
    """Whether a `finally` may do on the way out what the jump would skip."""
    holder: ast.AST = jump.within[-1].node if jump.within else jump.site.source.tree
    tries = (node for node in all_nodes(holder, ast.Try) if node.finalbody)
    return any(node is jump.site.node for one in tries for node in all_nodes(one))


def _ends_context(function: Function) -> bool:
    is_manager = any(name.rpartition(".")[2].endswith("contextmanager") for name in function.decorators)
    return is_manager or function.name in LEAVING
