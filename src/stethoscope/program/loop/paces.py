"""How often a round of a training loop moves a scheduler.

for _ in range(batch):              if step % steps_per_epoch == 0:
    scheduler.step()                    scheduler.step()

A condition that holds the updates as well, and in which the loop counts, leaves the rounds as they are: what
is counted are the updates. Where the loop counts outside of it, few of its rounds move the scheduler.

A number that is not known counts as the least that it can be: one process, one part. Of the batches in an
epoch that the data decide there are at least a few.
"""

from __future__ import annotations

import ast
import itertools

from stethoscope.program.loop.known_numbers import known_number
from stethoscope.program.loop.rounds_made import counted, is_one_more
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.walk.ancestry import ancestry, quietly
from stethoscope.program.walk.events import Assignment, Event, Scope
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Applied, Constant, Value

AT_LEAST_ONE = frozenset({"get_world_size", "device_count", "len", "cpu_count", "get_num_processes"})
FEWEST_BATCHES = 8.0  # of an epoch


def pace_of(loop: TrainingLoop, moved: Event, round_: Scope) -> float:
    """How many times each round moves what an event moves; a part of one, where few rounds do."""
    pace = 1.0
    shared = {id(one) for move in loop.moves if move.updates for one in move.event.scopes()}
    for scope in moved.scopes():
        if scope is round_:
            break
        if scope.kind == "loop" and id(scope) not in shared:
            pace *= _rounds_at_least(loop.run, scope) or 1.0
        elif (
            scope.kind == "if" and scope.arm and (id(scope) not in shared or not _is_counted_in(loop, scope))
        ):
            pace /= _nth(loop.run, scope) or 1.0
    return pace


def rounds_per_update(loop: TrainingLoop, moved: Event, round_: Scope) -> float:
    """How many rounds there are to an update of the weights, where each of them moves what an event moves."""
    own = {id(scope.node) for scope in moved.scopes()}
    update = next((move.event for move in loop.moves if move.updates), moved)
    conditions = itertools.takewhile(lambda scope: scope is not round_, update.scopes())
    asked = [one for one in conditions if one.kind == "if" and one.arm and id(one.node) not in own]
    periods = [period for one in asked if (period := _period(loop.run, one.value)) is not None]
    return periods[0] if len(periods) == 1 else 1.0


def _period(run: Execution, asked: Value | None) -> float | None:
    """The n of `step % n == 0`, also where something else is asked for besides: `or step == last`."""
    asked = quietly(run, asked) if asked is not None else None
    if isinstance(asked, Applied) and asked.callee == "or":
        return next((found for one in asked.args if (found := _period(run, one)) is not None), None)
    rest = _remainder(run, asked)
    return known_number(run, rest.args[1]) if rest is not None else None


def _is_counted_in(loop: TrainingLoop, scope: Scope) -> bool:
    """Whether the loop counts up where a condition holds: `if (i + 1) % n == 0: ...; step += 1`."""
    return any(
        isinstance(event, Assignment)
        and is_one_more(event)
        and counted(event)
        and any(one is scope for one in event.scopes())
        for event in loop.trace.events
    )


def _rounds_at_least(run: Execution, scope: Scope) -> float | None:
    """The rounds of `for _ in range(n)`, or the fewest there can be."""
    over = scope.value
    if not isinstance(scope.node, ast.For) or not isinstance(over, Applied) or over.callee != "range":
        return None
    return _at_least(run, over.args[0]) if len(over.args) == 1 else None


def _at_least(run: Execution, value: Value) -> float | None:
    value = quietly(run, value)
    known = known_number(run, value)
    if known is not None:
        return known
    if not isinstance(value, Applied):
        return None
    if value.callee.rpartition(".")[2] in AT_LEAST_ONE:
        return 1.0
    if value.callee != "*":
        return None
    factors = [_at_least(run, one) for one in value.args]
    product = 1.0
    for factor in factors:
        if factor is None:
            return None
        product *= factor
    return product


def _nth(run: Execution, scope: Scope) -> float | None:
    """The n of `if step % n == 0`; where the data decide it, the fewest batches that an epoch has."""
    rest = _remainder(run, quietly(run, scope.value) if scope.value is not None else None)
    if rest is None:
        return None
    known = known_number(run, rest.args[1])
    if known is not None:
        return known if known >= 1 else None
    made = (one for one in ancestry(run, rest.args[1]) if isinstance(one, Applied))
    return FEWEST_BATCHES if any(one.callee == "len" for one in made) else None


def _remainder(run: Execution, asked: Value | None) -> Applied | None:
    """The `step % n` of `step % n == 0`."""
    if not isinstance(asked, Applied) or asked.callee != "==" or not isinstance(asked.args[1], Constant):
        return None
    rest = quietly(run, asked.args[0])
    return rest if isinstance(rest, Applied) and rest.callee == "%" and len(rest.args) == 2 else None
