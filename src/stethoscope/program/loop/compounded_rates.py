"""Rates of learning on which the share of a schedule acts more than once.

A share belongs to the rate that was asked for. Multiplied into the rate of the round before, or into one that
a scheduler has given its share already, it acts again and again: `group["lr"] *= factor(step)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.hand_made_rates import followed, share_divisions
from stethoscope.program.loop.loop_order import questions
from stethoscope.program.loop.moves import Kind
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.ancestry import ancestry, quietly
from stethoscope.program.walk.events import Assignment, Call, Event
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Applied, Delayed, FunctionValue, Items, Leaf, Site, Value

RATE_WORDS = frozenset({"lr", "lrs", "rate"})
TELLING = frozenset({"get_last_lr", "get_lr", "lr_lambdas"})  # what a scheduler says of its own share


@dataclass(frozen=True, slots=True, eq=False)
class CompoundedRate:
    """Where a share is multiplied in, how it is written, and where a schedule gives the same share."""

    site: Site
    factor: str
    schedule: Site | None


def compounded_rates(loop: TrainingLoop) -> Iterator[CompoundedRate]:
    """Every share of a schedule that acts on a rate which has one already."""
    yield from _by_hand(loop)
    yield from _multiplicative(loop)


# By hand: group["lr"] *= factor(step)


def _by_hand(loop: TrainingLoop) -> Iterator[CompoundedRate]:
    scheduled = [move for move in loop.moves if move.kind is Kind.SCHEDULER_STEP]
    for event in loop.events:
        factor = _factor(event) if isinstance(event, Assignment) else None
        if not isinstance(event, Assignment) or factor is None or not _is_in_every_round(loop, event):
            continue
        if _is_set_anew(loop, event) or _is_ratio(factor):
            continue
        if not scheduled:
            if _counters(loop) & _names(factor):
                yield CompoundedRate(event.site, ast.unparse(factor), None)
            continue
        for move in scheduled:
            if _tells(factor) or _same_share(loop.run, event, move.subject):
                yield CompoundedRate(event.site, ast.unparse(factor), move.event.site)
                break


def _factor(event: Assignment) -> ast.expr | None:
    """What a rate is multiplied by, in place or as the rate of before."""
    if not _is_rate(event):
        return None
    value = _given(event)
    if isinstance(event.site.node, ast.AugAssign):
        return value if isinstance(event.site.node.op, ast.Mult) else None
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Mult):
        return None
    written = ast.unparse(event.target)
    if ast.unparse(value.left) == written:
        return value.right
    return value.left if ast.unparse(value.right) == written else None


def _given(event: Assignment) -> ast.expr | None:
    """The right-hand side."""
    node = event.site.node
    if isinstance(node, ast.AugAssign | ast.Assign):
        return node.value
    return node if isinstance(node, ast.expr) else None


def _is_rate(event: Assignment) -> bool:
    """`group["lr"]`, or an attribute that keeps a rate; a name is a function's own, and begins anew."""
    match event.target:
        case ast.Subscript(slice=ast.Constant(value="lr")):
            around = next((scope.node for scope in event.scopes() if scope.kind == "loop"), None)
            over = around.iter if isinstance(around, ast.For) else event.target
            return "param_groups" in _names(event.target) | _names(over)
        case ast.Attribute(attr=name):
            return {"lr"} == set(words(name)) or {"learning", "rate"} == set(words(name))
    return False


def _is_in_every_round(loop: TrainingLoop, event: Event) -> bool:
    """Whether each update of the weights goes with it."""
    updates = [move for move in loop.moves if move.updates]
    asked = questions(loop, event)
    return bool(updates) and loop.is_seen and asked <= questions(loop, updates[0].event)


def _is_set_anew(loop: TrainingLoop, event: Assignment) -> bool:
    """Whether something in the loop gives the rate a value that does not come from the one before."""
    for other in loop.events:
        if not isinstance(other, Assignment) or other.operator or not _is_rate(other):
            continue
        if type(other.target) is type(event.target) and _factor(other) is None:
            return True
    return False


def _is_ratio(factor: ast.expr) -> bool:
    """`share(step) / share(step - 1)` turns the share of before into the one of now."""
    for node in all_nodes(factor):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            called = [
                {dotted(one.func) for one in all_nodes(side, ast.Call)} - {None}
                for side in (node.left, node.right)
            ]
            if called[0] & called[1]:
                return True
    return False


def _counters(loop: TrainingLoop) -> set[str]:
    """The names of what the loop counts: by its header, or by adding to it."""
    found: set[str] = set()
    for event in loop.events:
        if isinstance(event, Assignment) and event.operator == "+" and dotted(event.target):
            found.add((dotted(event.target) or "").rpartition(".")[2])
    body = loop.body
    for scope in body.outwards() if body is not None else ():
        if scope.kind == "loop" and isinstance(scope.node, ast.For):
            found |= _counted(scope.node)
    return found


def _counted(loop: ast.For) -> set[str]:
    """`step` of `for step in range(n)` and of `for step, batch in enumerate(loader)`."""
    called = (dotted(loop.iter.func) or "") if isinstance(loop.iter, ast.Call) else ""
    if called.rpartition(".")[2] in {"range", "trange"} and isinstance(loop.target, ast.Name):
        return {loop.target.id}
    if called == "enumerate" and isinstance(loop.target, ast.Tuple):
        return _names(loop.target.elts[0])
    return set()


def _names(node: ast.AST) -> set[str]:
    named = (inner for inner in all_nodes(node) if isinstance(inner, ast.Name | ast.Attribute))
    return {inner.id if isinstance(inner, ast.Name) else inner.attr for inner in named}


def _tells(factor: ast.expr) -> bool:
    """Whether a factor is what the scheduler itself says of its share."""
    return bool(TELLING & _names(factor))


def _same_share(run: Execution, event: Assignment, scheduler: Value | None) -> bool:
    """Whether the function that a scheduler computes its share with is the one that is multiplied in."""
    scheduler = quietly(run, scheduler) if scheduler is not None else None
    if not isinstance(scheduler, Applied) or not scheduler.callee.endswith("LambdaLR"):
        return False
    made = scheduler.keywords.get("lr_lambda") or (scheduler.args[1] if len(scheduler.args) > 1 else None)
    used = _functions(run, _value_of(run, made))
    given = _given(event)
    calls = [one.func for one in all_nodes(given, ast.Call)] if given is not None else []
    called = {(dotted(func) or "").rpartition(".")[2] for func in calls}
    return any(function.name in called for function in used)


def _value_of(run: Execution, factor: Value | None) -> list[Value]:
    factor = quietly(run, factor) if factor is not None else None
    several = factor.items if isinstance(factor, Items) else [factor]
    return [
        value
        for one in several
        if one is not None
        for value in (one, followed(run, one, Leaf("round")))
        if value
    ]


def _functions(run: Execution, values: list[Value]) -> set[Function]:
    """The functions of the program that values are, or were computed by."""
    found: set[Function] = set()
    for value in values:
        if isinstance(value, FunctionValue):
            found.add(value.function)
        for one in ancestry(run, value):
            if isinstance(one, Delayed) and isinstance(one.callee, FunctionValue):
                found.add(one.callee.function)
    return found


# MultiplicativeLR with a share of the first rate


def _multiplicative(loop: TrainingLoop) -> Iterator[CompoundedRate]:
    for event in loop.trace.events:
        if not isinstance(event, Call) or event.name != "MultiplicativeLR":
            continue
        factor = event.argument(1, "lr_lambda")
        if factor is not None and any(share_divisions(loop.run, factor)):
            node = event.site.node
            given = node.args[1] if isinstance(node, ast.Call) and len(node.args) > 1 else None
            yield CompoundedRate(event.site, ast.unparse(given) if given is not None else "its factor", None)
