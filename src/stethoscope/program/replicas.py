"""One channel repeated into several, each then given noise of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.batches import batch_parts, drawn
from stethoscope.program.calls import is_network_pass
from stethoscope.program.execution import STEPS, Execution, Exhausted
from stethoscope.program.index import Index
from stethoscope.program.ingredients import ingredients, is_drawn
from stethoscope.program.minimised import minimised
from stethoscope.program.remembered import remembered
from stethoscope.program.settings_tree import SettingsTree
from stethoscope.program.values import Applied, Constant, Delayed, Items, Site, Value


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
    for one in ingredients(run, value):
        if isinstance(one, Applied | Delayed) and is_network_pass(run.index, one):
            yield from (arg for arg in one.args[:1] if any(map(is_drawn, ingredients(run, arg))))


def _replicas(run: Execution, noisy: Value) -> Iterator[NoisyReplicas]:
    """Noise drawn in the shape of something that was repeated along its channels."""
    for noise in ingredients(run, noisy):
        if not (isinstance(noise, Applied) and is_drawn(noise) and noise.args):
            continue
        for repeated, count in _repeated(run, noise.args[0]):
            yield NoisyReplicas(count, repeated, noise.site)


def _repeated(run: Execution, shaped_like: Value) -> Iterator[tuple[Site, int]]:
    made = [shaped_like, *(value for part in batch_parts(run, shaped_like) for value in drawn(run, part))]
    for value in (one for source in made for one in ingredients(run, source)):
        count = _copies(value) if isinstance(value, Applied) else 0
        if count > 1 and isinstance(value, Applied):
            yield value.site, count


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
