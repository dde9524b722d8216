"""One channel repeated into several, each then given noise of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.data.batches import batch_parts, collated_items, drawn
from stethoscope.program.data.fitted_loaders import fitted_loaders
from stethoscope.program.data.ingredients import ingredients, is_drawn
from stethoscope.program.data.made_channels import noisy_channels
from stethoscope.program.data.noisy_copies import noisy_copies, noisy_places
from stethoscope.program.data.topped_up_copies import topped_up_copies
from stethoscope.program.data.training_data import training_loaders
from stethoscope.program.data.widening_functions import is_about_channels
from stethoscope.program.index import Index
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.call_arguments import STARRED
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.minimised import minimised
from stethoscope.program.walk.network_passes import is_model_call, is_network_pass
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    Items,
    Part,
    Site,
    Value,
    is_nothing,
)

MOST_LOOKED = 200
# What leaves the number of channels as it is.
KEEPING = frozenset({
    "+", "-", "*", "/", "**", "neg", "clamp", "clip", "float", "to", "cuda", "cpu", "clone", "contiguous",
    "half", "from_numpy", "tensor", "as_tensor", "astype", "abs", "pow", "sqrt", "exp", "log", "detach",
    "double",
})  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class NoisyReplicas:
    """Where a channel is repeated, where noise is drawn for the copies, and how many there are, if known."""

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
    passes = noisy_places(index)
    for one in minimised(index, settings):
        one.run.steps = max(one.run.steps, STEPS // 2)
        try:
            for noisy, is_item in _noisy_inputs(one.run, one.sink.value):
                passes += 1
                for replicas in _replicas(one.run, noisy, of_items=is_item):
                    found.setdefault(id(replicas.repeated.node), replicas)
        except (Exhausted, RecursionError):
            continue
    for loader in (*training_loaders(index, settings), *fitted_loaders(index, settings)):
        loader.run.steps = max(loader.run.steps, STEPS // 4)
        try:
            for batch in collated_items(loader.run, loader.made):
                for replicas in _replicas(loader.run, batch, of_items=True):
                    passes += 1
                    found.setdefault(id(replicas.repeated.node), replicas)
        except (Exhausted, RecursionError):
            continue
    for made in (*noisy_channels(index), *noisy_copies(index), *topped_up_copies(index)):
        passes += 1
        found.setdefault(id(made.joined.node), NoisyReplicas(0, made.joined, made.made))
    return Replicas(passes, tuple(found.values()))


def _noisy_inputs(run: Execution, value: Value) -> Iterator[tuple[Value, bool]]:
    """What trained networks get where noise is in it, as the loop makes it or (true) as the data set does."""
    for one in ingredients(run, value):
        if not (isinstance(one, Applied | Delayed) and is_model_call(run.index, one)):
            continue
        given = one.args[1:2] if isinstance(one, Applied) and one.callee == "()" else one.args[:1]
        for arg in (*given, *one.keywords.values()):
            made = ((inner, True) for part in batch_parts(run, arg) for inner in drawn(run, part))
            for source, is_item in ((arg, False), *made):
                if any(map(is_drawn, ingredients(run, source))):
                    yield source, is_item


def _replicas(run: Execution, noisy: Value, *, of_items: bool) -> Iterator[NoisyReplicas]:
    """Noise drawn in the shape of something that was repeated along its channels.

    A batch that is copied along its first axis has more samples. One item has no axis of samples before its
    channels, so that copies along its first axis are channels too, where the function that makes them is
    about channels.
    """
    if _is_one_of_several(noisy, axis=0 if of_items else 1):
        return
    for noise in ingredients(run, noisy):
        if not (isinstance(noise, Applied) and is_drawn(noise)):
            continue
        for shaped_like in _shapes(noise):
            for repeated, count in _repeated(run, shaped_like, of_items=of_items):
                yield NoisyReplicas(count, repeated, noise.site)


def _is_one_of_several(given: Value, axis: int) -> bool:
    """Whether a network gets one copy at a time, as the two views of a contrast do: `pair[:, 0]`."""
    while isinstance(given, Applied) and given.args:
        if given.callee == "[]" and len(given.args) > 1:
            picked = given.args[1]
            one = picked.items[axis] if isinstance(picked, Items) and len(picked.items) > axis else None
            if isinstance(one, Constant) and isinstance(one.value, int):
                return True
        elif given.callee.rpartition(".")[2] not in KEEPING:
            return False
        given = given.args[0]
    return False


def _shapes(noise: Applied) -> Iterator[Value]:
    """What gives a draw its channels: a tensor, its shape, or its number of channels."""
    if noise.callee.endswith(("_like", ".normal_", "poisson", "bernoulli")):
        yield from noise.args[:1]
        return
    given = (noise.keywords.get(name) for name in ("size", "shape", STARRED))
    size = next((value for value in given if value is not None), None)
    sizes = [size] if size is not None else list(noise.args)
    each = [option for one in sizes for option in (one.options if isinstance(one, Choice) else (one,))]
    for one in each:
        match one:
            case Part(base=tensor, key="shape") | Applied(callee=".size", args=[tensor]):
                yield tensor
            case Items(items=inner) if len(inner) > 2:
                sizes = inner
    match sizes[-3] if len(sizes) > 2 else None:  # channels, height, width
        case Part(base=Part(base=tensor, key="shape")) | Applied(callee=".size", args=[tensor, _]):
            yield tensor


def _is_written_out(copies: Applied) -> bool:
    """`torch.tensor([[0, 0], [width, 0]]).expand(n, -1, -1)`: places that are given, and no data."""
    base = copies.args[0] if copies.args else None
    return (
        isinstance(base, Applied)
        and base.callee.rpartition(".")[2] in {"tensor", "as_tensor", "array"}
        and any(isinstance(one, Items) for one in base.args[:1])
    )


def _repeated(run: Execution, tensor: Value, *, of_items: bool) -> Iterator[tuple[Site, int]]:
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
        elif isinstance(value, Applied) and not _is_written_out(value):
            count = _copies(value, of_items=of_items)
            if count < 2 and of_items and _is_in_widening(run.index, value.site):
                count = _first_axis_copies(value)
            if count > 1:
                yield value.site, count
            elif value.callee in KEEPING or value.callee.rpartition(".")[2] in KEEPING:
                waiting.extend(value.args)


def _copies(value: Applied, *, of_items: bool) -> int:
    """How many copies of a channel a call makes, as `x.repeat(1, 4, 1, 1)` and `cat([x, x], 1)` do."""
    last = value.callee.rpartition(".")[2]
    if value.callee in {".repeat", ".expand", ".tile"}:
        given = value.args[1:]
        return _grown(given[0].items if len(given) == 1 and isinstance(given[0], Items) else given, of_items)
    if last in {"cat", "stack", "concatenate", "concat"} and value.args:
        is_along = _axis(value, 1) in ({None, 0, 1, -3} if of_items else {1, -3})
        return _joined_copies(value.args[0]) if is_along else 0
    if last == "tile" and len(value.args) == 2 and isinstance(value.args[1], Items):
        return _grown(value.args[1].items, of_items)
    if last in {"repeat", "repeat_interleave"} and len(value.args) > 1:  # numpy's repeat
        along = _axis(value, 2)
        # Along the first axis of an item each frame or row is held longer, unless there is but one.
        is_along = along in {1, -3} or (along == 0 and of_items and _is_one_plane(value.args[0]))
        return _number(value.args[1]) if is_along else 0
    return 0


def _grown(sizes: Sequence[Value], of_items: bool) -> int:
    """How often channels are copied by one size for each axis: the last three of an item or a batch."""
    fewest = 3 if of_items else 4
    return _number(sizes[-3]) if fewest <= len(sizes) <= 4 else 0


def _axis(value: Applied, place: int) -> object:
    positional = value.args[place] if len(value.args) > place else None
    axis = value.keywords.get("axis", value.keywords.get("dim", positional))
    return axis.value if isinstance(axis, Constant) else None


def _is_one_plane(value: Value) -> bool:
    """`plate[None]`, `plate[:1]`, `plate.unsqueeze(0)`."""
    match value:
        case Applied(callee=".unsqueeze" | "torch.unsqueeze" | "numpy.expand_dims"):
            return True
        case Applied(callee="[]", args=[_, key]):
            first = key.items[0] if isinstance(key, Items) and key.items else key
            return is_nothing(first) or (isinstance(first, Applied) and first.callee == "slice")
    return False


def _first_axis_copies(value: Applied) -> int:
    """`wave.repeat(2, 1)`, `wave.expand(2, -1)` of one recording."""
    if value.callee not in {".repeat", ".expand", ".tile"}:
        return 0
    given = value.args[1:]
    sizes = given[0].items if len(given) == 1 and isinstance(given[0], Items) else given
    return _number(sizes[0]) if len(sizes) == 2 and abs(_number(sizes[1])) == 1 else 0


def _is_in_widening(index: Index, site: Site) -> bool:
    line = getattr(site.node, "lineno", 0)
    around = (f for f in index.functions if f.source is site.source and f.node.lineno <= line)
    return any(line <= (f.node.end_lineno or 0) and is_about_channels(f) for f in around)


def _joined_copies(joined: Value) -> int:
    """How many times one thing is in a list: `[x, x, x]`, `[x] * 3`."""
    match joined:
        case Items(items=items):
            return len(items) if len({id(item) for item in items}) == 1 else 0
        case (
            Applied(callee="*", args=[Items(items=[_]), times])
            | Applied(callee="*", args=[times, Items(items=[_])])
        ):
            return _number(times)
    return 0


def _number(value: Value) -> int:
    known = value.value if isinstance(value, Constant) else 0
    return known if isinstance(known, int) else 0
