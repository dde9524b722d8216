"""Rates of learning that the source raises in the middle of a run, above all that came before.

A schedule is tried on the numbers of the rounds, as far as its function and the settings say what it gives.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from stethoscope.program.loop.hand_made_rates import followed
from stethoscope.program.loop.known_numbers import known_number
from stethoscope.program.loop.parameter_owners import holders
from stethoscope.program.loop.rate_courses import Course, courses_by_hand, is_rate_of_group
from stethoscope.program.loop.replaced_rates import is_named_rate
from stethoscope.program.loop.rounds_made import innermost, rounds_made
from stethoscope.program.loop.schedules import GAMMA
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.events import Assignment, Call
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Applied, Constant, Items, Site, Value

STEPPED = frozenset({"StepLR", "MultiStepLR"})  # ExponentialLR above one is how one looks for a rate
POINTS = 80  # rounds at which a schedule is tried
LONGEST = 1_000_000  # rounds that a course may have
FIRST_PART = 0.1  # of the course, in which a rate may be raised to begin with
TIMES = 1.9  # what came before, from one round to the next
ABOVE = 1.5  # of the rate that was asked for
UNFREEZING = frozenset({"requires_grad_", "unfreeze", "add_param_group", "unfreeze_backbone"})


@dataclass(frozen=True, slots=True, eq=False)
class RaisedRate:
    """Where the rate is raised, by how much, and what shows it; `round` where a schedule was tried."""

    site: Site
    times: float
    shown: str
    round: int | None = None


def raised_rates(loop: TrainingLoop) -> Iterator[RaisedRate]:
    """Every rise of the rate that the source of a loop and of what it is made with decides on."""
    for event in loop.trace.events:
        if isinstance(event, Call) and event.name in STEPPED:
            yield from _by_gamma(loop.run, event)
        elif isinstance(event, Call) and event.name == "LambdaLR":
            yield from _by_function(loop, event)
        elif isinstance(event, Assignment):
            yield from _by_base(loop, event)
            yield from _by_number(loop, event)
    yield from _by_hand(loop)


def _by_gamma(run: Execution, call: Call) -> Iterator[RaisedRate]:
    gamma = _number(run, call.argument(GAMMA[call.name], "gamma"))
    if gamma is not None and gamma > 1.0:
        yield RaisedRate(call.site, gamma, f"{call.name} with a gamma of {gamma:g}")


# The rates that a scheduler starts from


def _by_base(loop: TrainingLoop, event: Assignment) -> Iterator[RaisedRate]:
    """`scheduler.base_lrs = [10 * lr for lr in scheduler.base_lrs]`, once training is under way."""
    if getattr(event.target, "attr", "") != "base_lrs" or not _is_under_way(loop, event):
        return
    node = event.site.node
    for inner in all_nodes(node):
        match inner:
            case ast.BinOp(op=ast.Mult(), left=ast.Constant(value=int() | float() as times)):
                pass
            case ast.BinOp(op=ast.Mult(), right=ast.Constant(value=int() | float() as times)):
                pass
            case _:
                continue
        if times >= TIMES:
            yield RaisedRate(event.site, float(times), f"base_lrs times {times:g}")
            return


def _is_under_way(loop: TrainingLoop, event: Assignment) -> bool:
    """Whether an event is inside of the loop, or behind one that trains as well."""
    if any(one is event for one in loop.events):
        return True
    place = {id(one): position for position, one in enumerate(loop.trace.events)}
    trained = [place[id(move.event)] for move in (*loop.before, *loop.moves) if move.updates]
    return bool(trained) and min(trained) < place[id(event)]


# A number that is written over a rate


def _by_number(loop: TrainingLoop, event: Assignment) -> Iterator[RaisedRate]:
    """`if step == 5000: group["lr"] = 0.5`, where the optimizer was made with far less."""
    if event.operator or not (is_rate_of_group(event.target) or _is_rate_kept(event)):
        return
    written, asked = known_number(loop.run, event.value), _highest_rate(loop)
    if written is None or asked is None or written <= TIMES * asked:
        return
    at = _asked_at(loop, event)
    scope = innermost(loop, event)
    rounds = rounds_made(loop, scope) if scope is not None else None
    if at is not None and rounds is not None and at > FIRST_PART * rounds:
        shown = f"{ast.unparse(event.target)} is set to {written:g}, and was asked for as {asked:g}"
        yield RaisedRate(event.site, written / asked, shown, at)


def _is_rate_kept(event: Assignment) -> bool:
    return isinstance(event.target, ast.Attribute) and is_named_rate(event.target)


def _highest_rate(loop: TrainingLoop) -> float | None:
    """The highest rate that an optimizer of the walk was made with, where all are known."""
    rates = [known_number(loop.run, one.call.argument(1, "lr")) for one in holders(loop.trace)]
    known = [rate for rate in rates if rate is not None]
    return max(known) if known and len(known) == len(rates) else None


def _asked_at(loop: TrainingLoop, event: Assignment) -> int | None:
    """The round that a condition around an event waits for; parts that are let go there begin anew."""
    for scope in event.scopes():
        value = scope.value
        if scope.kind != "if" or not scope.arm or not isinstance(value, Applied):
            continue
        if value.callee not in {"==", ">", ">="} or isinstance(value.args[0], Constant):
            continue
        inside = (one for one in loop.events if any(other is scope for other in one.scopes()))
        if any(isinstance(one, Call) and one.name in UNFREEZING for one in inside):
            return None
        at = known_number(loop.run, value.args[1])
        return int(at) if at is not None else None
    return None


# A function of the round


def _by_function(loop: TrainingLoop, call: Call) -> Iterator[RaisedRate]:
    given = call.argument(1, "lr_lambda")
    given = quietly(loop.run, given) if given is not None else None
    length = _length(loop)
    for one in given.items if isinstance(given, Items) else [given]:
        if one is None or length is None:
            continue
        jump = _jump(partial(_share, loop.run, one), length)
        if jump is not None:
            at, times = jump
            yield RaisedRate(call.site, times, f"the share goes up {times:.3g} times", at)


def _by_hand(loop: TrainingLoop) -> Iterator[RaisedRate]:
    """`group["lr"] = peak * factor(step)`, where the factor goes up; of a rate its highest so far counts."""
    for course in courses_by_hand(loop):
        first = course.at(round(FIRST_PART * course.rounds))
        if not 2 * POINTS <= course.rounds <= LONGEST or not first:
            continue
        jump = _jump(partial(_per, course, first), course.rounds)
        if jump is not None:
            at, times = jump
            yield RaisedRate(course.site, times, f"{course.name} goes up {times:.3g} times", at)


def _per(course: Course, first: float, at: int) -> float | None:
    value = course.at(at)
    return value / first if value is not None else None


def _length(loop: TrainingLoop) -> int | None:
    """How many rounds the loop makes, where it says so by a number."""
    bounds: list[Value] = []
    for scope in loop.body.outwards() if loop.body is not None else ():
        made = scope.value if scope.kind == "loop" else None
        if made is not None and getattr(made, "callee", "") in {"<", "<=", "range"}:
            bounds.extend(getattr(made, "args", ())[-1:])
    for bound in bounds:
        number = _number(loop.run, bound)
        if number is not None and 2 * POINTS <= number <= LONGEST:
            return int(number)
    return None


def _share(run: Execution, function: Value, at: int) -> float | None:
    """What a function of the round gives for one of them, computed as far as the source says how."""
    eager, tracing = run.eager, run.tracing
    run.eager, run.tracing = True, False
    try:
        return _number(run, followed(run, function, Constant(at)))
    finally:
        run.eager, run.tracing = eager, tracing


def _jump(share: Callable[[int], float | None], length: int) -> tuple[int, float] | None:
    """The round at which a share leaves all that came before far below it, and by how much."""
    places = [round(length * point / POINTS) for point in range(POINTS)]
    highest = 0.0
    before = 0
    for at in places:
        value = share(at)
        if value is None:
            return None
        if at > FIRST_PART * length and value > ABOVE and value > TIMES * highest > 0:
            return _narrowed(share, before, at)
        highest, before = max(highest, value), at
    return None


def _narrowed(share: Callable[[int], float | None], low: int, high: int) -> tuple[int, float] | None:
    """The very round of a rise between two others; none where it is spread over several."""
    first, last = share(low), share(high)
    while high - low > 1:
        middle = (low + high) // 2
        value = share(middle)
        if value is None or first is None or last is None:
            return None
        if abs(value - first) < abs(last - value):
            low = middle
        else:
            high = middle
    below, above = share(low), share(high)
    if not below or above is None or above < TIMES * below:
        return None
    return high, above / below


def _number(run: Execution, value: Value | None) -> float | None:
    value = quietly(run, value) if value is not None else None
    known = value.value if isinstance(value, Constant) else None
    return float(known) if isinstance(known, int | float) else None
