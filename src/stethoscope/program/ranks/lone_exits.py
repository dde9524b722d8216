"""Ways out of a training loop that only some ranks take.

    if rank == 0 and stale > patience:          if rank == 0:
        break                                       stop = stale > patience
                                                if stop:
                                                    break

The others go on, and wait in their next collective for the one that has left. A mark that goes through a
collective before it is asked is everybody's.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from stethoscope.program.evaluation.evaluations import names_in
from stethoscope.program.ranks.decisions import Decisions, Ranks
from stethoscope.program.walk.events import Assignment, Event, Jump, Scope
from stethoscope.program.walk.values import Constant, Items, Value


def lone_exits(ranks: Ranks) -> Iterator[tuple[Jump, Scope]]:
    """Each jump out of a loop that trains, with the condition that not all ranks meet."""
    jumps = [one for one in ranks.walk.trace.events if isinstance(one, Jump) and _ends_training(ranks, one)]
    decisions = Decisions(ranks)
    marks = _marks_of_some(ranks, decisions) if jumps else frozenset()
    for jump in jumps:
        for scope in _up_to(jump, jump.leaves):
            if scope.kind != "if":
                continue
            if ranks.parts(scope):
                if not any(_is_other_arm(scope, other) for one in jumps for other in one.scopes()):
                    yield jump, scope
                break
            if marks & decisions.asked_names(scope.source, scope.node) and not ranks.is_shared(scope.value):
                yield jump, scope
                break


def _ends_training(ranks: Ranks, jump: Jump) -> bool:
    """Whether a jump leaves a loop with a backward pass inside."""
    if jump.kind not in {"break", "return"} or jump.leaves is None:
        return False
    left = [*_up_to(jump, jump.leaves), jump.leaves]
    return any(scope.kind == "loop" and id(scope) in ranks.walk.training_scopes for scope in left)


def _up_to(event: Event, outer: Scope | None) -> Iterator[Scope]:
    return itertools.takewhile(lambda scope: scope is not outer, event.scopes())


def _is_other_arm(scope: Scope, other: Scope) -> bool:
    return other.kind == "if" and other.node is scope.node and other.arm is not scope.arm


def _marks_of_some(ranks: Ranks, decisions: Decisions) -> frozenset[str]:
    """The names that are given anything but a beginning on some ranks only, and that no collective gets."""
    some: set[str] = set()
    all_of_them: set[str] = set()
    for event in ranks.walk.trace.events:
        if not isinstance(event, Assignment):
            continue
        names = decisions.stored(event)
        if any(scope.kind == "if" and ranks.parts(scope) for scope in event.scopes()):
            some |= names
        elif event.operator or not _is_beginning(event.value):
            all_of_them |= names
    told = {name for call in ranks.collectives for name in names_in(call.site.node)}
    return frozenset(name for name in some - all_of_them if name.partition(" of ")[0] not in told)


def _is_beginning(value: Value) -> bool:
    """`False`, `0` or `None`, also several at once: `best, stale, stop = 0.0, 0, False`."""
    if isinstance(value, Items):
        return all(_is_beginning(item) for item in value.items)
    return isinstance(value, Constant) and not value.value
