"""How many rounds a loop makes, as its header, the loops around it and the places that leave it say."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.index import dotted
from stethoscope.program.loop.known_numbers import known_number
from stethoscope.program.loop.schedule_steps import count_of
from stethoscope.program.loop.training_loop import TrainingLoop, level
from stethoscope.program.walk.events import Assignment, Event, Jump, Scope
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Applied, Value

MOST = 1_000_000_000  # rounds; what is said to go on for longer has no end that counts
LEAVING = frozenset({"break", "return"})
CUTTING = frozenset({"islice", "take", "zip", "cycle", "range", "repeat", "chain"})
FROM_ABOVE = frozenset({">", ">=", "=="})


def rounds_made(loop: TrainingLoop, scope: Scope) -> int | None:
    """All rounds that a loop makes in a run: its own, times those of the loops around it."""
    around = next((one for one in scope.outwards() if one is not scope and one.kind == "loop"), None)
    own = min([*_left_by_number(loop, scope), *filter(None, [rounds_of(loop, scope)])], default=None)
    repeated = rounds_made(loop, around) if around is not None else 1
    product = own * repeated if own is not None and repeated is not None else None
    known = [number for number in (product, *_bounds(loop, scope)) if number is not None]
    return min(known, default=None)


def can_end_early(loop: TrainingLoop, scope: Scope) -> bool:
    """Whether a loop, or one around it, may be left before its header has it end."""
    around = [one for one in scope.outwards() if one.kind == "loop"]
    jumps = (one for one in loop.trace.events if isinstance(one, Jump) and one.kind in LEAVING)
    return any(_left_by(jump) in around for jump in jumps)


def _left_by(jump: Jump) -> Scope | None:
    """The nearest loop that a jump is in, without a call in between."""
    nearest = next((one for one in jump.scopes() if one.kind in {"loop", "call"}), None)
    return nearest if nearest is not None and nearest.kind == "loop" else None


def rounds_of(loop: TrainingLoop, scope: Scope) -> int | None:
    """The rounds that the header of a loop counts: `range(n)`, `while step < n`."""
    count = count_of(scope)
    if count is None and goes_through_data(loop.run, scope):
        return loop.run.extent.batches if loop.run.extent is not None else None
    if count is None or (isinstance(scope.node, ast.While) and not _counts(loop, scope, scope.node.test)):
        return None
    return whole(loop.run, count)


def goes_through_data(run: Execution, scope: Scope) -> bool:
    """Whether a loop goes through all of a loader: no part of it that something cuts off."""
    if not isinstance(scope.node, ast.For) or level(run, scope) != "batch":
        return False
    called = (dotted(node.func) or "" for node in ast.walk(scope.node.iter) if isinstance(node, ast.Call))
    return not any(name.rpartition(".")[2] in CUTTING for name in called)


def whole(run: Execution, value: Value) -> int | None:
    """A number of rounds, where the source, the settings or the default of an option say it."""
    found = known_number(run, value)
    return int(found) if found is not None and 0 < found < MOST else None


def innermost(loop: TrainingLoop, event: Event) -> Scope | None:
    """The body or a loop around it, whichever of them is nearest to an event."""
    if loop.body is None or loop.body.kind != "loop":
        return None
    around = [scope for scope in loop.body.outwards() if scope.kind == "loop"]
    return next((one for one in event.scopes() if any(one is other for other in around)), None)


def _bounds(loop: TrainingLoop, scope: Scope) -> Iterator[int]:
    """What ends the rounds from elsewhere: a count that an outer loop asks for, or that is left at."""
    for outer in scope.outwards():
        if outer is scope or not isinstance(outer.node, ast.While):
            continue
        limit = count_of(outer) if _counts(loop, scope, outer.node.test) else None
        number = whole(loop.run, limit) if limit is not None else None
        if number is not None:
            yield number
    for event in _exits(loop, scope):
        number = _left_at(loop, event, scope) if not _leaves_by_number(event, scope) else None
        if number is not None:
            yield number


def _left_by_number(loop: TrainingLoop, scope: Scope) -> Iterator[int]:
    """Where the number of its own round ends a loop: `for k, batch in enumerate(loader): if k >= n: break`.

    That number begins again whenever the loop does, so it bounds no loop around it.
    """
    for event in _exits(loop, scope):
        number = _left_at(loop, event, scope) if _leaves_by_number(event, scope) else None
        if number is not None:
            yield number


def _exits(loop: TrainingLoop, scope: Scope) -> Iterator[Jump]:
    for event in loop.trace.events:
        if isinstance(event, Jump) and event.kind in LEAVING and _is_inside(event, scope):
            yield event


def _leaves_by_number(jump: Jump, scope: Scope) -> bool:
    asked = next(iter(jump.scopes()), None)
    test = asked.node if asked is not None else None
    if jump.kind != "break" or not isinstance(scope.node, ast.For) or not isinstance(test, ast.Compare):
        return False
    return _is_number_of_round(scope.node, (dotted(test.left) or "").rpartition(".")[2])


def _left_at(loop: TrainingLoop, jump: Jump, scope: Scope) -> int | None:
    """The count at which a loop is left: `if step >= n: break`."""
    asked = next(iter(jump.scopes()), None)
    tested = asked.value if asked is not None and asked.kind == "if" and asked.arm else None
    if asked is None or not isinstance(tested, Applied) or tested.callee not in FROM_ABOVE:
        return None
    return whole(loop.run, tested.args[1]) if _counts(loop, scope, asked.node) else None


def _counts(loop: TrainingLoop, scope: Scope, test: ast.AST) -> bool:
    """Whether the rounds of a loop count up what a comparison asks for first."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    name = (dotted(test.left) or "").rpartition(".")[2]
    if isinstance(scope.node, ast.For) and _is_number_of_round(scope.node, name):
        return True
    given = [
        event
        for event in loop.trace.events
        if isinstance(event, Assignment) and name in _names(event) and _is_inside(event, scope)
    ]
    # What is set back between, as patience is, counts no rounds.
    return bool(name and given) and all(counted(event) == name for event in given)


def _names(event: Assignment) -> set[str]:
    targets = event.target.elts if isinstance(event.target, ast.Tuple) else [event.target]
    return {(dotted(target) or "").rpartition(".")[2] for target in targets}


def counted(event: Assignment) -> str:
    """The name of what an assignment counts up: `step += 1`, `self.step = self.step + 1`; else nothing."""
    target = dotted(event.target) or ""
    node = event.site.node
    is_sum = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)
    adds = event.operator == "+" or (is_sum and isinstance(node, ast.BinOp) and dotted(node.left) == target)
    return target.rpartition(".")[2] if adds else ""


def is_one_more(event: Assignment) -> bool:
    """Whether what is counted up goes up by one."""
    node = event.site.node
    added = node.value if isinstance(node, ast.AugAssign) else getattr(node, "right", None)
    return isinstance(added, ast.Constant) and added.value == 1


def _is_number_of_round(loop: ast.For, name: str) -> bool:
    """`step` of `for step, batch in enumerate(...)` and of `for step in itertools.count()`."""
    first = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) and loop.target.elts else loop.target
    called = (dotted(loop.iter.func) or "") if isinstance(loop.iter, ast.Call) else ""
    is_counted = called.rpartition(".")[2] in {"enumerate", "count", "range", "trange"}
    return is_counted and isinstance(first, ast.Name) and first.id == name


def _is_inside(event: Event, scope: Scope) -> bool:
    return any(one is scope for one in event.scopes())
