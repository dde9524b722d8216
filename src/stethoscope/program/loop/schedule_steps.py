"""Where a training loop moves its learning-rate schedules: in which rounds, and under which conditions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.likenesses import words
from stethoscope.program.loop.moves import Kind, Move, moves, same_object
from stethoscope.program.loop.training_loop import TrainingLoop, condition, level
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.events import Event, Scope
from stethoscope.program.walk.values import Applied, Value

SKIPPING = frozenset({"scale", "skipped", "skip", "finite", "isfinite", "overflow"})


@dataclass(frozen=True, slots=True, eq=False)
class ScheduleStep:
    """One `scheduler.step()` and the loop whose every round reaches it.

    `is_first` says that the round makes it before any update of the weights.
    """

    move: Move
    round: Scope
    is_first: bool


def schedule_steps(loop: TrainingLoop) -> Iterator[ScheduleStep]:
    """The steps of schedules that are made whenever the weights are updated, in each round or around it."""
    around = _rounds(loop)
    order = [*loop.before, *loop.moves, *loop.after]
    updates = [move for move in loop.moves if move.updates]
    if not updates:
        return
    first = order.index(updates[0])
    for position, move in enumerate(order):
        if move.kind is not Kind.SCHEDULER_STEP or _is_of_another(loop, move, updates):
            continue
        scope = next((one for one in move.event.scopes() if one in around), None)
        if scope is not loop.body and _is_walked_again(loop, move.event):
            continue
        if scope is not None and asked_within(move.event, scope) <= asked_within(updates[0].event, scope):
            yield ScheduleStep(move, scope, position < first)
        elif scope is None:
            given = _round_of_generator(move.event, around)
            if given is not None:
                yield given_by_generator(move, given)


def _is_of_another(loop: TrainingLoop, move: Move, updates: list[Move]) -> bool:
    """Whether a schedule was made for an optimizer that steps elsewhere in the walk, and not in this loop."""
    made = quietly(loop.run, move.subject) if move.subject is not None else None
    if not isinstance(made, Applied) or made.callee == "()":
        return False
    optimizer = made.keywords.get("optimizer", made.args[0] if made.args else None)
    stepped = [one for one in moves(loop.run, tuple(loop.trace.events)) if one.updates]
    if optimizer is None or any(_is_for(one, optimizer) for one in updates):
        return False
    return any(_is_for(one, optimizer) for one in stepped)


def _is_for(update: Move, optimizer: Value) -> bool:
    return update.subject is not None and same_object(update.subject, optimizer)


def _round_of_generator(event: Event, around: list[Scope]) -> Scope | None:
    """The loop that runs over the generator in which an event happens, with each of its rounds."""
    function = event.within[-1] if event.within else None
    inside = next((scope for scope in event.scopes() if scope.kind in {"if", "loop", "call"}), None)
    if function is None or inside is None or inside.kind != "loop" or yield_in(inside.node) is None:
        return None
    for scope in around:
        if isinstance(scope.node, ast.For) and function.name in _called(scope.node.iter):
            return scope
    return None


def given_by_generator(move: Move, given: Scope) -> ScheduleStep:
    """A step that a generator makes before or after it hands out a round."""
    inside = next(scope for scope in move.event.scopes() if scope.kind == "loop")
    handed = yield_in(inside.node)
    assert handed is not None
    return ScheduleStep(move, given, move.event.line < handed.lineno)


def yield_in(node: ast.AST) -> ast.expr | None:
    """The place where a loop of a generator hands out its rounds, where there is one."""
    found = [inner for inner in all_nodes(node) if isinstance(inner, ast.Yield | ast.YieldFrom)]
    return found[0] if len(found) == 1 else None


def _called(node: ast.AST) -> set[str]:
    calls = (inner.func for inner in all_nodes(node, ast.Call))
    return {str(getattr(func, "attr", None) or getattr(func, "id", "")) for func in calls}


def _is_walked_again(loop: TrainingLoop, event: Event) -> bool:
    """Whether an event belongs to the same loop in the code, which the walk went through once more."""
    node = loop.body.node if loop.body is not None else None
    return any(scope.kind == "loop" and scope.node is node for scope in event.scopes())


def _rounds(loop: TrainingLoop) -> list[Scope]:
    """The body and the loops around it."""
    if loop.body is None:
        return []
    return [scope for scope in loop.body.outwards() if scope is loop.body or scope.kind == "loop"]


def asked_within(event: Event, scope: Scope) -> frozenset[tuple[str, bool]]:
    """The conditions inside a loop that an event depends on, but for those about skipped steps."""
    found: set[tuple[str, bool]] = set()
    for one in event.scopes():
        if one is scope:
            break
        if one.kind == "if" and not is_about_skips(one.node):
            found.add(condition(one))
    # An optimizer of Accelerate asks this itself, wherever its step is written.
    return frozenset(
        one for one in found if not (one[1] and one[0].endswith(".sync_gradients") and " " not in one[0])
    )


def is_about_skips(test: ast.AST) -> bool:
    """Whether a condition only leaves out a skipped step, or a schedule that is not there."""
    named = (getattr(node, "attr", None) or getattr(node, "id", None) for node in ast.walk(test))
    spoken = {word for name in named if name for word in words(str(name))}
    is_of_none = any(isinstance(node, ast.Constant) and node.value is None for node in ast.walk(test))
    return is_of_none or bool(spoken & SKIPPING)


def epoch_loop(loop: TrainingLoop) -> Scope | None:
    """The loop over epochs around the body, where the body is not that loop itself."""
    if loop.body is None or loop.body.kind != "loop" or level(loop.run, loop.body) == "epoch":
        return None
    outer = loop.body.outer.outwards() if loop.body.outer is not None else iter(())
    return next((s for s in outer if s.kind == "loop" and level(loop.run, s) == "epoch"), None)


def count_of(scope: Scope) -> Value | None:
    """How many rounds a `for ... in range(n)` makes, as the value of n."""
    value = scope.value
    if isinstance(value, Applied) and value.callee == "range" and value.args:
        return value.args[0] if len(value.args) == 1 else value.args[1]
    if isinstance(scope.node, ast.While) and isinstance(value, Applied) and value.callee in {"<", "<="}:
        return value.args[1]
    return None
