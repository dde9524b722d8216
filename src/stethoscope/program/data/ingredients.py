"""What a value was made from: looking for something in all that leads to it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.network_passes import is_network_pass
from stethoscope.program.walk.values import Applied, Choice, Delayed, Items, Part, Value, inputs

MOST_VISITED = 600
FEW = 4  # elements of a row that are looked at
MOST_PEELED = 100  # views, casts and moves around one value
# fmt: off
DRAWING = frozenset({
    "randn", "randn_like", "rand", "rand_like", "normal", "normal_", "standard_normal", "randint",
    "bernoulli", "multinomial", "uniform_", "poisson", "sample", "rsample", "random",
})
# fmt: on
HANDING_OUT = frozenset({"itertools.cycle", "itertools.islice"})  # the parts of what they are given


def ingredients(
    run: Execution,
    value: Value,
    through_networks: bool = False,
    leading: Callable[[Value], Iterable[Value]] = inputs,
) -> Iterator[Value]:
    """A value and everything it was made from; functions of the repository are followed.

    `leading` says which of the inputs of a value matter.
    """
    seen: set[int] = set()
    waiting = deque([value])  # what is near comes first: data may be made from much
    while waiting and len(seen) < MOST_VISITED:
        current = waiting.popleft()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        alone = _of_what_is_given_back(run, current) if isinstance(current, Part) else None
        if alone is not None:
            waiting.append(alone)
            continue
        is_network = is_network_pass(run.index, current)
        if isinstance(current, Delayed) and (through_networks or not is_network):
            waiting.append(run.expand(current))
        if not is_network:
            waiting.extend(leading(current))


def _of_what_is_given_back(run: Execution, part: Part) -> Value | None:
    """The one of several values that a function of the repository gives back: `_, y = batch()` is only y."""
    base, keys = part_path(part)
    if not isinstance(base, Delayed) or is_network_pass(run.index, base):
        return None
    found = run.expand(base)
    for key in keys:
        match found, key:
            case Items(items=[only]), "*":
                found = only
            case Items(items=several), int() if 0 <= key < len(several):
                found = several[key]
            case _:
                return None
    return found


def few_of_each(value: Value) -> Iterable[Value]:
    """The inputs of a value, of a long row only the first few: what a comprehension makes is made alike."""
    match value:
        case Items(items=row) | Choice(options=row) if len(row) > FEW:
            return row[:FEW]
    return inputs(value)


def has(
    run: Execution, value: Value, wanted: Callable[[Value], bool], through_networks: bool = False
) -> bool:
    """Whether something among the ingredients is wanted."""
    return any(wanted(one) for one in ingredients(run, value, through_networks))


def is_drawn(value: Value) -> bool:
    """Whether a value is drawn at random."""
    return isinstance(value, Applied) and value.callee.rpartition(".")[2] in DRAWING


def returned(run: Execution, value: Value) -> tuple[Value, ...]:
    """What a call of the repository gives back, every alternative of it; other values are themselves."""
    while isinstance(value, Delayed):
        value = run.expand(value)
    return value.options if isinstance(value, Choice) else (value,)


def peeled(value: Value) -> Value:
    """A value without the views, casts and moves around it."""
    for _ in range(MOST_PEELED):  # a list may hold itself
        match value:
            case Applied(callee=callee, args=[first, *_]) if (
                callee.rpartition(".")[2] in LAYOUT or callee == "[]"
            ):
                value = first
            case Items(items=[only]):
                value = only
            case _:
                return value
    return value


def part_path(value: Value) -> tuple[Value, tuple[str | int, ...]]:
    """What a part is a part of in the end, and the keys that lead to it; `next(stream)` is any part of it."""
    keys: list[str | int] = []
    while True:
        match value:
            case Part(base=base, key=key):
                keys.append(key)
                value = base
            case Applied(callee="next", args=[stream, *_]):
                keys.append("*")
                value = stream
            case Applied(callee=callee, args=[stream, *_]) if callee in HANDING_OUT and keys[-1:] == ["*"]:
                value = stream
            case _:
                return value, tuple(reversed(keys))


# Calls that move, cast or pick values and leave them what they are.
# fmt: off
LAYOUT = frozenset({
    "view", "reshape", "permute", "transpose", "squeeze", "unsqueeze", "contiguous", "flatten", "unflatten",
    "float", "double", "half", "to", "type_as", "clone", "cuda", "cpu", "movedim", "rearrange", "swapaxes",
    "t", "view_as", "expand", "expand_as", "chunk", "split", "gather_for_metrics", "detach", "long",
    "bfloat16",
})
# fmt: on
