"""What the objects that compute a loss keep of it for themselves: running averages, histories.

A walk puts the computation of a loss off until its value matters, so what happens inside is looked at here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.index import Function
from stethoscope.program.loop.kept_values import Kept, kept_values
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.ancestry import MOST_VALUES, ancestry, cuts_gradient
from stethoscope.program.walk.events import Event
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.learning_classes import has_parameters
from stethoscope.program.walk.values import Delayed, FunctionValue, Instance, Value


def kept_by_losses(run: Execution, loss: Value | None) -> Iterator[Kept]:
    """What the criteria that a loss went through add to their own attributes and do not give back."""
    seen: set[Function] = set()
    for value in ancestry(run, loss, cuts_gradient):
        callee = value.callee if isinstance(value, Delayed) else None
        if not isinstance(callee, FunctionValue) or not isinstance(callee.bound, Instance):
            continue
        function = callee.function
        if function in seen or has_parameters(run.index, callee.bound.cls) or not _stores(function):
            continue
        seen.add(function)
        assert isinstance(value, Delayed)
        for kept in kept_values(_events_inside(run, value, callee)):
            if kept.name.startswith("self.") and not _is_given_back(function, kept.name):
                yield kept


def _stores(function: Function) -> bool:
    """Whether a function changes an attribute, or calls something that adds to one."""
    for node in own_nodes(function.node):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            return True
        if isinstance(node, ast.Attribute) and node.attr in {"append", "add", "insert", "appendleft"}:
            return True
    return False


def _is_given_back(function: Function, name: str) -> bool:
    """Whether what is kept is part of the result, and so of what is minimised."""
    returns = (node for node in own_nodes(function.node, ast.Return) if node.value)
    return any(name in ast.unparse(node) for node in returns)


def _events_inside(run: Execution, delayed: Delayed, callee: FunctionValue) -> tuple[Event, ...]:
    """What a call that was put off would do, with the walk left as it was."""
    events, scope, steps = len(run.events), run.scope, run.steps
    run.steps = max(steps, MOST_VALUES)
    try:
        run.follow(callee, delayed.args, delayed.keywords)
        return tuple(run.events[events:])
    except (Exhausted, RecursionError):
        return ()
    finally:
        del run.events[events:]
        run.scope, run.steps = scope, steps
