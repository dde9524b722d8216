"""Which object or function of the repository a call leads to, behind what wraps, moves or unwraps it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Function
from stethoscope.program.precision.half_weights import forced
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.networks import networks as behind_wrappers
from stethoscope.program.walk.trace import Trace
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    ClassValue,
    Constant,
    FunctionValue,
    Instance,
    Items,
    Outside,
    PartialValue,
    Table,
    Value,
    choice,
)

MOST_CALLS = 2  # of one function, each with what it was given
DEEPEST = 3  # of containers that hold objects


@dataclass(frozen=True, slots=True, eq=False)
class Handed:
    """What a function was called with: the object it belongs to, and the objects among its arguments."""

    bound: Value | None
    args: tuple[Value | None, ...]
    keywords: tuple[tuple[str, Value], ...]


def called(run: Execution, event: Call) -> Value | None:
    """The object or function that a call leads to, where that is known."""
    if event.receiver is None:
        callee = event.callee
        return callee if isinstance(callee, Instance | FunctionValue | Choice | Applied) else None
    found = [one for owner in behind_wrappers(event.receiver) for one in _of_owner(run, owner, event.name)]
    return choice(*found) if found else None


def _of_owner(run: Execution, owner: Value, name: str) -> Iterator[Value]:
    if not isinstance(owner, Instance):
        return
    kept = owner.attributes.get(name)
    if isinstance(kept, Instance | Choice | Applied):
        yield kept
        return
    method = run.index.method(owner.cls, name)
    if method is not None:
        yield FunctionValue(method, owner)


def handed_over(known: Iterable[Trace]) -> dict[Function, tuple[Handed, ...]]:
    """What the walks saw each function be called with, where that says more than nothing."""
    found: dict[Function, list[Handed]] = {}
    for trace in known:
        for event in trace.events:
            if not isinstance(event, Call) or not event.arguments_known:
                continue
            for target in _functions(called(trace.run, event)):
                mine = found.setdefault(target.function, [])
                args = [forced(trace.run, one) for one in event.args]
                keywords = {key: forced(trace.run, one) for key, one in event.keywords.items()}
                handed = Handed(
                    target.bound,
                    tuple(one if is_object(one) else None for one in args),
                    tuple((key, one) for key, one in keywords.items() if is_object(one)),
                )
                if len(mine) < MOST_CALLS and not any(_is_same(handed, other) for other in mine):
                    mine.append(handed)
    return {function: tuple(calls) for function, calls in found.items()}


def _functions(value: Value | None) -> Iterator[FunctionValue]:
    match value:
        case FunctionValue():
            yield value
        case Choice(options=options):
            for option in options:
                yield from _functions(option)


def is_object(value: Value | None, depth: int = DEEPEST) -> bool:
    """Whether a value is no tensor: a network, a layer, a function, a number, or a container of such."""
    match value:
        case Instance() | FunctionValue() | ClassValue() | PartialValue() | Constant():
            return True
        case Outside(name=name):
            return name.startswith("torch")
        case Applied(callee=callee):
            last = callee.rpartition(".")[2]
            if callee.startswith("."):
                return is_object(value.args[0], depth - 1) if value.args and depth else False
            return callee.startswith("torch.nn.") and last[:1].isupper() and not last.endswith("()")
        case Choice(options=inside) | Items(items=inside):
            return _are_objects(inside, depth)
        case Table(entries=entries, rest=rest):
            return _are_objects([*entries.values(), *rest], depth)
    return False


def _are_objects(inside: Sequence[Value], depth: int) -> bool:
    return depth > 0 and bool(inside) and all(is_object(one, depth - 1) for one in inside)


def _is_same(one: Handed, other: Handed) -> bool:
    if one.bound is not other.bound or len(one.args) != len(other.args):
        return False
    return all(a is b for a, b in zip(one.args, other.args, strict=True)) and [
        (key, id(value)) for key, value in one.keywords
    ] == [(key, id(value)) for key, value in other.keywords]
