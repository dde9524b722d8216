"""One channel repeated into several, each then given noise of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.batches import batch_parts, drawn
from stethoscope.program.calls import is_model_call, is_network_pass
from stethoscope.program.execution import STEPS, Execution, Exhausted
from stethoscope.program.index import Index
from stethoscope.program.ingredients import ingredients, is_drawn
from stethoscope.program.minimised import minimised
from stethoscope.program.remembered import remembered
from stethoscope.program.settings_tree import SettingsTree
from stethoscope.program.values import Applied, Choice, Constant, Delayed, Items, Part, Site, Value

MOST_LOOKED = 200
# What leaves the number of channels as it is.
KEEPING = frozenset({
    "+", "-", "*", "/", "**", "neg", "clamp", "clip", "float", "to", "cuda", "cpu", "clone", "contiguous",
    "half", "from_numpy", "tensor", "as_tensor", "astype", "abs", "pow", "sqrt", "exp", "log", "detach",
    "double",
})  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class NoisyReplicas:
    """Where a channel is repeated, where noise is drawn for the copies, and how many there are."""

    count: int
    repeated: Site
    noise: Site


@dataclass(frozen=True, slots=True, eq=False)
class Replicas:
    """What was found, and how many networks with noisy input were looked at."""

    passes: int
    found: tuple[NoisyReplicas, ...]


@remembered
def noisy_replicas(index: Index, settings: SettingsTree) -> Replicas:
    """Look at the noise that the input of every trained network gets."""
    found: dict[object, NoisyReplicas] = {}
    passes = 0
    for one in minimised(index, settings):
        one.run.steps = max(one.run.steps, STEPS // 2)
        try:
            for noisy in _noisy_inputs(one.run, one.sink.value):
                passes += 1
                for replicas in _replicas(one.run, noisy):
                    found.setdefault(id(replicas.repeated.node), replicas)
        except (Exhausted, RecursionError):
            continue
    return Replicas(passes, tuple(found.values()))


def _noisy_inputs(run: Execution, value: Value) -> Iterator[Value]:
    """What trained networks get, as the loop makes it and as the data set does, where noise is in it."""
    for one in ingredients(run, value):
        if not (isinstance(one, Applied | Delayed) and is_model_call(run.index, one)):
            continue
        given = one.args[1:2] if isinstance(one, Applied) and one.callee == "()" else one.args[:1]
        for arg in (*given, *one.keywords.values()):
            made = (inner for part in batch_parts(run, arg) for inner in drawn(run, part))
            yield from (source for source in (arg, *made) if any(map(is_drawn, ingredients(run, source))))


def _replicas(run: Execution, noisy: Value) -> Iterator[NoisyReplicas]:
    """Noise drawn in the shape of something that was repeated along its channels."""
    for noise in ingredients(run, noisy):
        if not (isinstance(noise, Applied) and is_drawn(noise)):
            continue
        for shaped_like in _shapes(noise):
            for repeated, count in _repeated(run, shaped_like):
                yield NoisyReplicas(count, repeated, noise.site)


def _shapes(noise: Applied) -> Iterator[Value]:
    """What gives a draw its channels: a tensor, its shape, or its number of channels."""
    if noise.callee.endswith("_like") or noise.callee == ".normal_":
        yield from noise.args[:1]
        return
    size = noise.keywords.get("size", noise.keywords.get("shape"))
    sizes = [size] if size is not None else list(noise.args)
    for one in sizes if len(sizes) < 3 else ():
        match one:
            case Part(base=tensor, key="shape") | Applied(callee=".size", args=[tensor]):
                yield tensor
            case Items(items=inner) if len(inner) > 2:
                sizes = inner
    match sizes[-3] if len(sizes) > 2 else None:  # channels, height, width
        case Part(base=Part(base=tensor, key="shape")) | Applied(callee=".size", args=[tensor, _]):
            yield tensor


def _repeated(run: Execution, tensor: Value) -> Iterator[tuple[Site, int]]:
    """The repetitions that a tensor has its channels from, in the loop or in the data set."""
    seen: set[int] = set()
    waiting = [tensor]
    while waiting and len(seen) < MOST_LOOKED:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Delayed) and not is_network_pass(run.index, value):
            waiting.append(run.expand(value))
        elif isinstance(value, Part):
            waiting.extend(inner for part in batch_parts(run, value) for inner in drawn(run, part))
        elif isinstance(value, Choice):
            waiting.extend(value.options)
        elif isinstance(value, Applied):
            count = _copies(value)
            if count > 1:
                yield value.site, count
            elif value.callee in KEEPING or value.callee.rpartition(".")[2] in KEEPING:
                waiting.extend(value.args)


def _copies(value: Applied) -> int:
    """How many copies of a channel a call makes, as `x.repeat(1, 4, 1, 1)` and `cat([x, x])` do."""
    last = value.callee.rpartition(".")[2]
    if value.callee in {".repeat", ".expand", ".tile"}:
        given = value.args[1:]
        sizes = given[0].items if len(given) == 1 and isinstance(given[0], Items) else given
        channel = len(sizes) - 3
        return _number(sizes[channel]) if 0 <= channel <= 1 else 0
    if last in {"cat", "stack", "concatenate"} and value.args and isinstance(value.args[0], Items):
        items = value.args[0].items
        return len(items) if len({id(item) for item in items}) == 1 else 0
    return 0


def _number(value: Value) -> int:
    known = value.value if isinstance(value, Constant) else 0
    return known if isinstance(known, int) else 0
