"""The course that a rate of learning takes: what each round of a loop gets of it, tried on numbers.

A course is that of a library's scheduler, the function of a `LambdaLR`, the `get_lr` of a scheduler of the
program's own, or what the loop computes and writes into its groups: `group["lr"] = get_lr(step)`. It is
followed for single rounds, those behind the end of the run too, as far as source and settings say what it
gives.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from stethoscope.program.index import Class, Function, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.derived_schedulers import as_of_library
from stethoscope.program.loop.known_numbers import is_parsed, known_number, option_defaults
from stethoscope.program.loop.library_courses import library_course
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.paces import pace_of, rounds_per_update
from stethoscope.program.loop.roles import Role, derived_role
from stethoscope.program.loop.rounds_made import counted, innermost, is_one_more, rounds_made, whole
from stethoscope.program.loop.schedule_steps import count_of, is_about_skips
from stethoscope.program.loop.schedules import counts_batches
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.ancestry import ancestry, quietly
from stethoscope.program.walk.events import Assignment, Call, Scope
from stethoscope.program.walk.execution import Execution, Exhausted, Extent
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    LambdaValue,
    Leaf,
    Part,
    PartialValue,
    Site,
    Value,
)

STEPS = 4_000  # expressions followed for one round
OPEN_RATE = 1.0  # a rate that is not known: only the share of it counts
# What holds for a short training and for a long one holds for those between.
TAKEN = (Extent(epochs=24, batches=60), Extent(epochs=90, batches=700))
RATE_WORDS = frozenset({"lr", "rate", "lrs"})
OF_GROUPS = frozenset({"initial_lr", "lr_scale", "lr_mult", "base_lr", "max_lr"})

Function1 = Callable[[float], float | None]


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """What `at` gives of the rate in each round, and how many `rounds` the run makes at the most.

    `is_each` says that every one of them moves it. `pace` is by how much the count that the rate is computed
    from goes up with each round, `rate(step * accumulation)`, or how often a round moves a scheduler.
    `per_update` is how many rounds there are to an update, where all of them move it. Where the lengths are
    not known, some were taken, `extent`, and `other` is the same course with others.
    """

    site: Site
    name: str
    at: Function1
    rounds: int
    is_each: bool
    pace: float = 1.0
    per_update: float = 1.0
    extent: Extent | None = None
    other: Course | None = None

    @property
    def told_lengths(self) -> str:
        """Words on the lengths that were taken, where they are not known."""
        if self.extent is None or self.other is None or self.other.extent is None:
            return ""
        return (
            f" (taking {self.extent.batches} batches an epoch; with {self.other.extent.batches} it is alike)"
        )


def rate_courses(loop: TrainingLoop) -> Iterator[Course]:
    """The courses of a loop's rates whose length in rounds is known, or that are alike for every length."""
    found = [*_of_schedulers(loop), *courses_by_hand(loop)]
    yield from found or _with_any_extent(loop)


# Whatever the lengths are


def _with_any_extent(loop: TrainingLoop) -> Iterator[Course]:
    """Courses that can be computed for any number of epochs and batches, each for two such numbers."""
    few, many = (_with_extent(loop, extent) for extent in TAKEN)
    for course in many:
        other = next((o for o in few if o.site.node is course.site.node and o.name == course.name), None)
        if other is not None:
            yield replace(course, other=other)


def _with_extent(loop: TrainingLoop, extent: Extent) -> list[Course]:
    with _taking(loop.run, extent):
        found = [*_of_schedulers(loop), *courses_by_hand(loop)]
    return [replace(one, at=_taken(loop.run, extent, one.at), extent=extent) for one in found]


def _taken(run: Execution, extent: Extent, at: Function1) -> Function1:
    def taken(round_: float) -> float | None:
        with _taking(run, extent):
            return at(round_)

    return taken


@contextmanager
def _taking(run: Execution, extent: Extent) -> Iterator[None]:
    """Take a training to be so long, and let names hold the numbers that follow."""

    def number(value: Value) -> Value:
        known = known_number(run, value) if isinstance(value, Applied | Part | Leaf) else None
        return Constant(_plain(known)) if known is not None else value

    run.extent, run.numbers = extent, number
    try:
        yield
    finally:
        run.extent = run.numbers = None


# Schedulers: LambdaLR, and classes of the program's own


def _of_schedulers(loop: TrainingLoop) -> Iterator[Course]:
    moved: dict[Value, list[Move]] = {}
    for move in (*loop.before, *loop.moves, *loop.after):
        if move.kind is Kind.SCHEDULER_STEP and move.subject is not None:
            for made in _single(loop.run, move.subject):
                moved.setdefault(made, []).append(move)
    for made, moves in moved.items():
        scope = innermost(loop, moves[0].event)
        rounds = rounds_made(loop, scope) if scope is not None and len(moves) == 1 else None
        made_of = as_of_library(loop.trace, made)
        function = _function_of(loop.run, made_of) if rounds is not None else None
        if scope is None or rounds is None or function is None:
            continue  # one that several loops move goes on from one to the next
        site = made.site if isinstance(made, Applied) else moves[0].event.site
        pace = pace_of(loop, moves[0].event, scope)
        is_each = _is_in_each(loop, moves[0], scope)
        per_update = rounds_per_update(loop, moves[0].event, scope) if is_each else 1.0
        yield Course(site, _name_of(made), _paced(function, pace), rounds, is_each, pace, per_update)


def _single(run: Execution, value: Value) -> Iterator[Value]:
    value = quietly(run, value)
    if isinstance(value, Choice | Items):
        for one in value.options if isinstance(value, Choice) else value.items:
            yield from _single(run, one)
    else:
        yield value


def _function_of(run: Execution, made: Value) -> Function1 | None:
    if isinstance(made, Applied) and made.callee.rpartition(".")[2] == "LambdaLR":
        given = made.keywords.get("lr_lambda") or (made.args[1] if len(made.args) > 1 else None)
        given = quietly(run, given) if given is not None else None
        factor = given.items[0] if isinstance(given, Items) and given.items else given
        return (lambda at: computed(run, factor, [Constant(at)])) if factor is not None else None
    if not isinstance(made, Instance) or derived_role(run.index, made.cls) is not Role.SCHEDULER:
        of_library = library_course(run, made)
        return (lambda at: of_library(int(at))) if of_library is not None else None
    method = run.index.method(made.cls, "get_lr")
    if method is None:
        return None

    def at(round_: float) -> float | None:
        state = {"last_epoch": Constant(round_), "_step_count": Constant(round_ + 1)}
        rates = {"base_lrs": Items([Constant(OPEN_RATE)])}
        return computed(run, FunctionValue(method, made), [], {}, {**state, **rates})

    return at


def _name_of(made: Value) -> str:
    if isinstance(made, Instance):
        return made.cls.name
    return made.callee.rpartition(".")[2] if isinstance(made, Applied) else ""


def _is_in_each(loop: TrainingLoop, move: Move, scope: Scope) -> bool:
    """Whether each round moves a schedule, but for those whose update is left out."""
    updates = [one for one in loop.moves if one.updates]
    allowed = {id(one.node) for update in updates for one in update.event.scopes() if one.kind == "if"}
    for one in move.event.scopes():
        if one is scope:
            return True
        if one.kind == "if" and id(one.node) not in allowed and not is_about_skips(one.node):
            return False
    return False


def _own_name(node: ast.AST) -> str:
    return str(getattr(node, "attr", None) or getattr(node, "id", None) or "")


# By hand: group["lr"] = ...


def courses_by_hand(loop: TrainingLoop) -> Iterator[Course]:
    """The courses of the rates that a loop writes into its groups."""
    seen: set[object] = set()
    written = [
        event
        for event in loop.trace.events
        if isinstance(event, Assignment) and not event.operator and is_rate_of_group(event.target)
    ]
    elsewhere = {
        event.site.node for event in written if innermost(loop, event) is None and _is_in_loop(event)
    }
    for event in written:
        if innermost(loop, event) is None or event.site.node in elsewhere:
            continue
        for course in (*_of_function(loop, event), *_of_caller(loop, event)):
            if course.name not in seen:
                seen.add(course.name)
                yield course


def _is_in_loop(event: Assignment) -> bool:
    """Whether something other than the groups is gone through around an event."""
    loops = [scope for scope in event.scopes() if scope.kind == "loop"]
    over = [scope.node.iter for scope in loops if isinstance(scope.node, ast.For)]
    return len(loops) > sum("param_groups" in ast.unparse(one) for one in over)


def is_rate_of_group(target: ast.expr) -> bool:
    """`group["lr"]`."""
    return (
        isinstance(target, ast.Subscript)
        and isinstance(target.slice, ast.Constant)
        and target.slice.value == "lr"
    )


def _of_function(loop: TrainingLoop, event: Assignment) -> Iterator[Course]:
    """`group["lr"] = get_lr(step)`, `group["lr"] = peak * self.factor(self.count)`."""
    run = loop.run
    for call in _factors(run, event.value):
        if not isinstance(call, Delayed):
            continue
        places = _counts_in(loop, call.args, call.keywords, call.site.node)
        if places is None:
            continue
        place, rounds, pace = places
        counted_at = _with_count(run, call, place)
        yield Course(event.site, _called(call.callee), _paced(counted_at, pace), rounds, True, pace)


def _factors(run: Execution, value: Value) -> Iterator[Value]:
    """The factors of a product; a rate beside them changes no share."""
    if isinstance(value, Applied) and value.callee in {"*", "/", "float", "max"}:
        for one in value.args:
            yield from _factors(run, one)
    else:
        yield value


def _paced(counted_at: Function1, pace: float) -> Function1:
    """What a function of a count gives in each round, where the count goes up by `pace`."""
    return counted_at if pace == 1.0 else lambda round_: counted_at(_plain(round_ * pace))


def _plain(count: float) -> int | float:
    return int(count) if float(count).is_integer() else count


def _with_count(run: Execution, call: Delayed, place: int | str) -> Function1:
    def at(round_: float) -> float | None:
        args, keywords = _replaced(call.args, call.keywords, place, Constant(round_))
        return computed(run, call.callee, args, keywords)

    return at


def _of_caller(loop: TrainingLoop, event: Assignment) -> Iterator[Course]:
    """`adjust_learning_rate(optimizer, epoch)`, `schedule.step()`: the function that writes the rates."""
    function = event.within[-1] if event.within else None
    call = _call_of(loop, event, function) if function is not None else None
    callee = call.callee if call is not None else None
    if call is None or not isinstance(callee, FunctionValue) or function is None:
        return
    run, bound = loop.run, callee.bound
    placed = _counts_in(loop, call.args, call.keywords, call.site.node)
    counters = _counters(loop, bound) if placed is None and isinstance(bound, Instance) else None
    if placed is None and counters is None:
        return
    rounds = placed[1] if placed is not None else counters[1] if counters is not None else 0
    pace = placed[2] if placed is not None else 1.0

    def at(round_: float) -> float | None:
        args, keywords = list(call.args), call.keywords
        if placed is not None:
            args, keywords = _replaced(call.args, call.keywords, placed[0], Constant(round_))
        attributes = {name: Constant(round_) for name in counters[0]} if counters is not None else {}
        return _written(run, callee, args, keywords, attributes, event.site.node)

    yield Course(event.site, function.name, _paced(at, pace), rounds, True, pace)


def _call_of(loop: TrainingLoop, event: Assignment, function: Function) -> Call | None:
    """The call that led to where a rate is written."""
    found = None
    for one in loop.trace.events:
        if one is event:
            return found
        if isinstance(one, Call) and getattr(one.callee, "function", None) is function:
            found = one
    return None


# Counts


def _counts_in(
    loop: TrainingLoop, args: Sequence[Value], keywords: Mapping[str, Value], call: ast.AST
) -> tuple[int | str, int, float] | None:
    """The one argument that counts rounds, how far these go, and what each of them adds to the count."""
    places: list[tuple[int | str, Value]] = [*enumerate(args), *keywords.items()]
    multiplied = [(place, *_multiplied(loop.run, value)) for place, value in places]
    written = _written_arguments(call)
    found = [
        (place, rounds, pace)
        for place, count, pace in multiplied
        if (rounds := _counted_to(loop, count, written.get(place))) is not None
    ]
    return found[0] if len(found) == 1 else None


def _written_arguments(call: ast.AST) -> dict[int | str, ast.expr]:
    """The arguments of a call as they are written, by place or name."""
    if not isinstance(call, ast.Call) or any(isinstance(one, ast.Starred) for one in call.args):
        return {}
    return {**dict(enumerate(call.args)), **{one.arg: one.value for one in call.keywords if one.arg}}


def _multiplied(run: Execution, value: Value) -> tuple[Value, float]:
    """What is multiplied or divided by known numbers, and by how much: `step * accumulation * batch`."""
    value = quietly(run, value)
    if not isinstance(value, Applied) or value.callee not in {"*", "/", "//"} or len(value.args) != 2:
        return value, 1.0
    left, right = value.args
    number = known_number(run, right)
    if number is None and value.callee == "*":
        left, number = right, known_number(run, left)
    if number is None or number <= 0:
        return value, 1.0
    inner, pace = _multiplied(run, left)
    return inner, pace * number if value.callee == "*" else pace / number


def _counted_to(loop: TrainingLoop, value: Value, written: ast.expr | None = None) -> int | None:
    """How far a count goes: of the loop that counts it, or in whose rounds it is counted up."""
    run = loop.run
    value = quietly(run, value)
    begun = value.options if isinstance(value, Choice) else (value,)
    if all(isinstance(one, Constant) or _is_plain(run, one) for one in begun) and len(begun) > 1:
        return _counted_up(loop, _names_in(written))  # from nothing, or from where a checkpoint was
    if isinstance(value, Constant) and isinstance(written, ast.Attribute):
        return _counted_up(loop, {written.attr})  # of an object, in the first round that was walked
    if isinstance(value, Constant | Instance) or not _is_plain(run, value):
        return None
    leaves = [one for one in ancestry(run, value) if isinstance(one, Leaf | Part)]
    counting = [run.counted_by[id(one)][1] for one in leaves if id(one) in run.counted_by]
    epochs = _epochs(loop, value, counting)
    if epochs is not None:
        return epochs
    if len(set(map(id, counting))) > 1:
        return None  # an epoch and a batch, put together in a way that is not known
    scope = _scope_of(loop, counting[0]) if counting else None
    if scope is not None and isinstance(scope.node, ast.For):
        limit = count_of(scope)
        return whole(run, limit) if limit is not None else rounds_made(loop, scope)
    return _counted_up(loop, {_last_name(one) for one in leaves})


def _counted_up(loop: TrainingLoop, names: Collection[str]) -> int | None:
    """The rounds in which something of one of these names goes up by one."""
    for event in loop.trace.events:
        if isinstance(event, Assignment) and counted(event) and counted(event) in names:
            around = innermost(loop, event)
            if around is not None and is_one_more(event):
                return rounds_made(loop, around)
    return None


def _names_in(written: ast.expr | None) -> frozenset[str]:
    return frozenset(_own_name(node) for node in ast.walk(written)) if written is not None else frozenset()


def _is_plain(run: Execution, value: Value) -> bool:
    """Whether a value is a count, moved by a number, or epochs with the share of the one that goes on."""
    if isinstance(value, Leaf | Part):
        return True
    return isinstance(value, Applied) and value.callee in {"+", "-", "/", "int", "float", "max"}


def _epochs(loop: TrainingLoop, value: Value, counting: Sequence[ast.AST]) -> int | None:
    """`epoch + i / len(loader)` counts to the number of epochs."""
    run = loop.run
    divided = [one for one in ancestry(run, value) if isinstance(one, Applied) and one.callee == "/"]
    if not any(counts_batches(run, one.args[1]) for one in divided if len(one.args) == 2):
        return None
    outer = [scope for node in counting if (scope := _scope_of(loop, node)) is not None]
    ranges = [limit for scope in outer if (limit := count_of(scope)) is not None]
    return whole(run, ranges[0]) if len(ranges) == 1 else None


def _scope_of(loop: TrainingLoop, node: ast.AST) -> Scope | None:
    scopes = loop.body.outwards() if loop.body is not None else iter(())
    return next((one for one in scopes if one.kind == "loop" and one.node is node), None)


def _last_name(value: Leaf | Part) -> str:
    return value.name if isinstance(value, Leaf) else str(value.key)


def _counters(loop: TrainingLoop, bound: Instance) -> tuple[frozenset[str], int] | None:
    """The attributes that an object counts up in the rounds of the loop, and how far."""
    own = {name for cls in loop.run.index.lineage(bound.cls) for name in _counted_by_methods(cls)}
    for event in loop.trace.events:
        if isinstance(event, Assignment) and event.owner is bound and counted(event) in own:
            around = innermost(loop, event)
            rounds = rounds_made(loop, around) if around is not None else None
            if rounds is not None:
                return frozenset({counted(event)}), rounds
    return None


def _counted_by_methods(cls: Class) -> Iterator[str]:
    for method in cls.methods.values():
        for node in own_nodes(method.node):
            if isinstance(node, ast.AugAssign) and (dotted(node.target) or "").startswith("self."):
                yield _own_name(node.target)


# Trying


def computed(
    run: Execution,
    function: Value | None,
    args: Sequence[Value],
    keywords: Mapping[str, Value] | None = None,
    attributes: Mapping[str, Value] | None = None,
) -> float | None:
    """The number that a function gives for these arguments, its object changed as `attributes` say."""
    with _trying(run, tracing=False):
        _set(run, getattr(function, "bound", None), attributes or {})
        _parse(run, function, args)
        match function:
            case LambdaValue():
                given = run.follow_lambda(function, args, keywords or {})
            case FunctionValue():
                given = run.follow(function, args, keywords or {})
            case PartialValue(callee=FunctionValue() as callee, args=first, keywords=others):
                given = run.follow(callee, [*first, *args], {**others, **(keywords or {})})
            case _:
                return None
        return _number(run, given)
    return None


def _written(
    run: Execution,
    callee: FunctionValue,
    args: Sequence[Value],
    keywords: Mapping[str, Value],
    attributes: Mapping[str, Value],
    node: ast.AST,
) -> float | None:
    """The number that a function writes into the rate at one of its statements."""
    with _trying(run, tracing=True):
        before = len(run.events)
        _set(run, callee.bound, attributes)
        _parse(run, callee, args)
        run.follow(callee, args, keywords)
        values = [e.value for e in run.events[before:] if isinstance(e, Assignment) and e.site.node is node]
        return _number(run, values[-1]) if values else None
    return None


@contextmanager
def _trying(run: Execution, tracing: bool) -> Iterator[None]:
    """Follow something for its result alone: what it does to the walk and to objects is taken back."""
    events, scope, steps, journal = len(run.events), run.scope, run.steps, len(run.journal)
    eager, traced = run.eager, run.tracing
    run.eager, run.tracing, run.steps, run.scope = True, tracing, STEPS, None
    try:
        yield
    except (Exhausted, RecursionError):
        pass
    finally:
        for home, key, before in reversed(run.journal[journal:]):
            if before is None:
                home.pop(key, None)
            else:
                home[key] = before
        del run.journal[journal:]
        del run.events[events:]
        run.eager, run.tracing, run.steps, run.scope = eager, traced, steps, scope


def _set(run: Execution, instance: Value | None, attributes: Mapping[str, Value]) -> None:
    for name, value in attributes.items():
        if isinstance(instance, Instance):
            run.store(instance, name, value)


def _parse(run: Execution, function: Value | None, args: Sequence[Value]) -> None:
    """Let the flags that a function is handed, or has around it, be what they are where nobody types them."""
    around = getattr(function, "around", None) or {}
    kept = getattr(getattr(function, "bound", None), "attributes", {})
    for given in (*args, *around.values(), *kept.values(), *_of_module(run, function)):
        if is_parsed(run, given):
            parsed = run.force(given)
            for name, number in option_defaults(run.index).items():
                whole_number = int(number) if number.is_integer() else number
                run.store(parsed, name, Constant(whole_number))


def _of_module(run: Execution, function: Value | None) -> Iterator[Value]:
    """What a function reads of its module: a script keeps its flags there."""
    match function:
        case FunctionValue(function=Function(node=node, source=source)):
            pass
        case LambdaValue(node=node, source=source):
            pass
        case _:
            return
    module = run.index.module_of(source)
    for name in _names_read(node):
        yield run.global_name(name, module)


@lru_cache(maxsize=64)
def _names_read(node: ast.AST) -> list[str]:
    return sorted({one.id for one in all_nodes(node, ast.Name)})


def _number(run: Execution, value: Value) -> float | None:
    """A number, in which a rate that is not known counts as one."""
    value = run.force(value)
    match value:
        case Constant(value=bool() | None):
            return None
        case Constant(value=int() | float() | np.integer() as known):
            return float(known) if math.isfinite(known) else None
        case Constant(value=np.ndarray(size=1) as array):
            return float(array.item()) if math.isfinite(array.item()) else None
        case Items(items=[first, *_]):
            return _number(run, first)
        case Applied(callee="+" | "-" | "*" | "/" as operator, args=(left, right)):
            one, other = _number(run, left), _number(run, right)
            return _combined(operator, one, other) if one is not None and other is not None else None
        case Part(base=base, key=str() as key) if key in OF_GROUPS or RATE_WORDS & set(words(key)):
            is_of_group = key == "lr" and isinstance(base, Part) and base.key == "*"
            return None if is_of_group else OPEN_RATE
    return None


def _combined(operator: str, one: float, other: float) -> float | None:
    if operator == "/":
        return one / other if other else None
    return {"+": one + other, "-": one - other, "*": one * other}[operator]


def _replaced(
    args: Sequence[Value], keywords: Mapping[str, Value], place: int | str, value: Value
) -> tuple[list[Value], dict[str, Value]]:
    given, named = list(args), dict(keywords)
    if isinstance(place, int):
        given[place] = value
    else:
        named[place] = value
    return given, named


def _called(callee: FunctionValue | LambdaValue) -> str:
    return callee.function.name if isinstance(callee, FunctionValue) else "a lambda"
