"""Amounts of a training that no library is told by name: the program's own loops and calls have them.

for step in range(cfg["updates"]):                      how long the run is
    x, y = data.draw(cfg["n"])                          how many samples are drawn at once
    slow.lerp_(fast, 1 - cfg["beta"])                   how much an average of the weights keeps
torch.manual_seed(cfg["seed"])                          what random numbers begin from
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from stethoscope.program.evaluation.averages_by_hand import WEIGHTS
from stethoscope.program.loop.moves import Kind
from stethoscope.program.loop.rate_courses import Course, courses_by_hand
from stethoscope.program.loop.rounds_made import can_end_early, innermost
from stethoscope.program.loop.schedule_steps import count_of
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.walk.ancestry import ancestry, quietly
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.values import Applied, Constant, Items, Site, Value

SEEDING = frozenset({"manual_seed", "seed", "set_seed", "seed_everything", "manual_seed_all"})
# Draws of places in the data, by where the number of them stands.
DRAWING = {"randint": 2, "integers": 2, "choice": 1, "choices": 1, "sample": 1}
SIZES = ("size", "k")
PLACES = 48  # of the run, between which the top of a rate is looked for
RISES = 0.5  # of the highest rate: a course that begins above it has no warm-up


@dataclass(frozen=True, slots=True, eq=False)
class AmountInCall:
    """A value that is a quantity of the training, in its unit, and where it acts."""

    quantity: str
    value: Value
    site: Site
    unit: str = ""


def amounts_in_calls(loop: TrainingLoop) -> Iterator[AmountInCall]:
    """What the loops and calls around a training's updates say of it."""
    yield from _lengths(loop)
    yield from _draws(loop)
    yield from _averages(loop)
    yield from _seeds(loop)


# How long the run is


def _lengths(loop: TrainingLoop) -> Iterator[AmountInCall]:
    """The outermost count: of steps where each of its rounds updates once, else of epochs."""
    update = next(move for move in loop.moves if move.updates)
    inner = innermost(loop, update.event)
    if inner is None or can_end_early(loop, inner):
        return
    loops = [scope for scope in inner.outwards() if scope.kind == "loop"]
    if len(loops) > 2 or any(scope.kind == "call" for scope in loops):
        return
    count = count_of(loops[-1])
    if count is not None:
        unit = "step" if len(loops) == 1 else "epoch"
        yield AmountInCall("length of the run", count, Site(loops[-1].source, loops[-1].node), unit)


# How many samples are drawn at once


def _draws(loop: TrainingLoop) -> Iterator[AmountInCall]:
    for event in loop.events:
        if not isinstance(event, Call) or event.name not in DRAWING or not _is_in_body(loop, event):
            continue
        named = (event.keywords[name] for name in SIZES if name in event.keywords)
        size = next(named, event.argument(DRAWING[event.name], "size"))
        size = size if size is not None else event.argument(1, "size")
        first = _first(loop, size)
        if first is not None:
            yield AmountInCall("batch per device", first, event.site)
    for move in loop.of(Kind.FORWARD):
        given = move.event.args if isinstance(move.event, Call) else ()
        for drawn in (one for value in given for one in ancestry(loop.run, value)):
            if isinstance(drawn, Applied) and (first := _first(loop, _size_of(drawn))) is not None:
                yield AmountInCall("batch per device", first, drawn.site)


def _size_of(drawn: Applied) -> Value | None:
    """How many places a call draws, where it draws some."""
    name = drawn.callee.rpartition(".")[2]
    if name not in DRAWING:
        return None
    named = next((drawn.keywords[one] for one in SIZES if one in drawn.keywords), None)
    behind = drawn.args[DRAWING[name] :] or drawn.args[1:]
    return named if named is not None else (behind[0] if behind else None)


def _first(loop: TrainingLoop, size: Value | None) -> Value | None:
    """The number of rows of what is drawn: `n`, `(n,)`."""
    size = quietly(loop.run, size) if size is not None else None
    return size.items[0] if isinstance(size, Items) and size.items else size


# How much an average keeps


def _averages(loop: TrainingLoop) -> Iterator[AmountInCall]:
    for event in loop.events:
        if isinstance(event, Call) and _goes_over_weights(event):
            weight = _taken_share(event)
            kept = _rest(loop, event, weight) if weight is not None else None
            if kept is not None:
                yield AmountInCall("EMA decay", kept, event.site)


def has_growing_average(loop: TrainingLoop) -> bool:
    """Whether what an average keeps depends on the round: `min(decay, (1 + step) / (10 + step))`."""
    shares = (_taken_share(one) for one in loop.events if isinstance(one, Call) and _goes_over_weights(one))
    return any(
        id(one) in loop.run.counted_by
        for share in shares
        if share is not None
        for one in ancestry(loop.run, share)
    )


def _taken_share(event: Call) -> Value | None:
    """What an update takes of the new weights: `lerp_(new, share)`, `add_(new, alpha=share)`."""
    written = event.site.node.args if isinstance(event.site.node, ast.Call) else []
    if any("grad" in ast.unparse(one) for one in written):
        return None  # an optimizer of the program's own keeps averages too
    if event.name == "lerp_":
        return event.argument(1, "weight")
    return event.keywords.get("alpha") if event.name == "add_" else None


def _rest(loop: TrainingLoop, event: Call, share: Value) -> Value | None:
    """The decay that a share is the rest of, `1 - decay`, as whoever calls the averaging gives it."""
    share = quietly(loop.run, share)
    if isinstance(share, Applied) and share.callee == "-" and len(share.args) == 2:
        one = quietly(loop.run, share.args[0])
        return share.args[1] if isinstance(one, Constant) and one.value == 1 else None
    if not isinstance(share, Constant) or not isinstance(share.value, int | float):
        return None
    kept = round(1.0 - share.value, 12)
    return next((one for one in _given_around(loop, event) if _is_near(one, kept)), Constant(kept))


def _given_around(loop: TrainingLoop, event: Call) -> Iterator[Constant]:
    """The numbers from settings that the functions around an event were called with, or keep."""
    for call in loop.events:
        function = getattr(call.callee, "function", None) if isinstance(call, Call) else None
        if not isinstance(call, Call) or function is None or function not in event.within:
            continue
        kept = getattr(getattr(call.callee, "bound", None), "attributes", {})
        for one in (*call.args, *call.keywords.values(), *kept.values()):
            one = quietly(loop.run, one)
            if isinstance(one, Constant) and one.setting:
                yield one


def _is_near(one: Constant, number: float) -> bool:
    return isinstance(one.value, float) and abs(one.value - number) < 1e-9


def _goes_over_weights(event: Call) -> bool:
    """Whether the nearest loop around a call goes through the weights of networks."""
    scope = next((one for one in event.scopes() if one.kind == "loop"), None)
    over = scope.node.iter if scope is not None and isinstance(scope.node, ast.For) else None
    return over is not None and _speaks_of_weights(over)


@lru_cache(maxsize=512)
def _speaks_of_weights(over: ast.expr) -> bool:
    text = ast.unparse(over)
    return any(f".{name}(" in text for name in WEIGHTS)


# What random numbers begin from


def _seeds(loop: TrainingLoop) -> Iterator[AmountInCall]:
    for event in loop.trace.events:
        is_seed = isinstance(event, Call) and event.name in SEEDING and not _is_in_body(loop, event)
        seed = event.argument(0, "seed") if isinstance(event, Call) and is_seed else None
        if seed is not None:
            yield AmountInCall("seed", seed, event.site)


def _is_in_body(loop: TrainingLoop, event: Call) -> bool:
    return any(scope is loop.body for scope in event.scopes())


# How long a rate rises


def warm_ups_by_hand(loop: TrainingLoop) -> Iterator[tuple[int, Site]]:
    """The rounds in which the rates rise that the program computes itself."""
    for course in courses_by_hand(loop):
        found = rise_of(course)
        if found is not None:
            yield found, course.site


def rise_of(course: Course) -> int | None:
    """The round in which a course that begins low is at its top; None where it does not, or is not known."""
    last = course.rounds - 1
    places = sorted({round(i * last / PLACES) for i in range(PLACES + 1)})
    values = [course.at(at) for at in places]
    known = [value for value in values if value is not None]
    if len(known) < len(values) or len(known) < 2:
        return None
    top = max(range(len(known)), key=known.__getitem__)
    low, high = places[max(top - 1, 0)], places[min(top + 1, len(places) - 1)]
    while high - low > 1:
        middle = (low + high) // 2
        here, there = course.at(middle), course.at(middle + 1)
        if here is None or there is None:
            return None
        low, high = (middle, high) if there > here else (low, middle)
    best = max((low, high), key=lambda at: course.at(at) or 0.0)
    highest = course.at(best) or 0.0
    is_level = best < last and (course.at(best + 1) or 0.0) >= highest
    return best + is_level if best > 0 and known[0] < RISES * highest else None
