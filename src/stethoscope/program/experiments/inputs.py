"""Inputs that fit a network: found by trying what its layers take, kind by kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stethoscope.program.experiments.consumption import Consumption
from stethoscope.program.experiments.interpreter import Interpreter
from stethoscope.program.experiments.layers import Layer
from stethoscope.program.experiments.library_networks import KIND
from stethoscope.program.experiments.running import WORK_TO_FIT, Unlisted
from stethoscope.program.experiments.things import Array, Object, Weight
from stethoscope.program.index import Function
from stethoscope.program.walk.bounded_arrays import CannotCompute, TooLarge

# Sizes that no layer is likely to have, so that an axis is known by its length.
SAMPLES = 5
PLACES = 7
OTHER_PLACES = 9  # of a second sequence
PICTURES = (16, 32, 28, 64, 24, 48)
SIGNALS = (32, 96, 256)
CODES = (8, 8)
LONGEST_TABLE = 64
MOST_WIDTHS = 6
MOST_TRIES = 120


@dataclass(frozen=True, eq=False, slots=True)
class Fitting:
    """Arguments that a network can be called with: a kind and an array for each parameter."""

    kinds: tuple[str, ...]
    names: tuple[str, ...]
    arrays: tuple[Array, ...]


def fitting(run: Interpreter, network: Object, forward: Function) -> Fitting | None:
    """The first arguments that the network can be computed with."""
    names = required(forward)
    if not names or len(names) > 4:
        return None
    tries = MOST_TRIES
    beside = _beside_embeddings(run.layers)
    for kind, first in _firsts(network, run.layers):
        for kinds, others in _others(kind, first, len(names) - 1, beside):
            tries -= 1
            if tries < 0:
                return None
            run.work = WORK_TO_FIT
            try:
                given = outputs(run, network, (first, *others))
            except Unlisted:
                return None
            if given is not None:
                return Fitting((kind, *kinds), names, (first, *others))
    return None


def required(forward: Function) -> tuple[str, ...]:
    """The parameters of a forward that a call has to give."""
    spec = forward.node.args
    positional = [arg.arg for arg in (*spec.posonlyargs, *spec.args)][1:]
    count = len(positional) - min(len(spec.defaults), len(positional))
    return tuple(positional[:count] or positional[:1])


def outputs(run: Interpreter, network: Object, arrays: Sequence[Array]) -> list[Array] | None:
    """All tensors that a network gives, None where it cannot be computed."""
    given = tuple(np.array(a) for a in arrays)
    run.consumption = Consumption(given)
    run.spared = []
    place, count = run.drawer.place, len(run.layers)
    try:
        with np.errstate(all="ignore"):
            result = run.call(network, given, {})
    except Unlisted:
        raise
    except TooLarge:
        run.is_overworked = True
        return None
    except CannotCompute:
        return None
    except Exception:  # a stranger's shapes and types: whatever Python and numpy say about them
        return None
    finally:
        run.depth = 0
        run.drawer.place = place  # what is made during a pass is the same in the next
        del run.layers[count:]
    found = [x for x in _tensors(result) if x.size and x.dtype.kind in "fc"]
    return found if found and all(np.isfinite(x).all() for x in found) else None


def _tensors(value: Any) -> Iterator[Array]:
    match value:
        case np.ndarray():
            yield value
        case list() | tuple():
            for one in value:
                yield from _tensors(one)
        case dict():
            for one in value.values():
                yield from _tensors(one)
        case Object():
            yield from _tensors(value.attributes)


def _firsts(network: Object, layers: Sequence[Layer]) -> Iterator[tuple[str, Array]]:
    """What may be the first argument, by the kinds of layers there are."""
    rng = np.random.default_rng(1)
    kinds = {layer.kind for layer in layers}
    if kinds & {"Embedding", KIND}:
        yield "tokens", rng.integers(1, 12, (SAMPLES, PLACES))
    for channels in _widths(layers, "in_channels", ("Conv2d",)):
        for size in PICTURES:
            yield "picture", rng.standard_normal((SAMPLES, channels, size, size))
    for channels in _widths(layers, "in_channels", ("Conv1d",)):
        for length in SIGNALS:
            yield "signal", rng.standard_normal((SAMPLES, channels, length))
    recurrent = ("LSTM", "GRU", "RNN")
    for width in _widths(layers, "input_size", recurrent):
        yield "sequence", rng.standard_normal((SAMPLES, PLACES, width))
    for width in _widths(layers, "in_channels", ("Conv1d",)):  # which is turned before the convolution
        yield "sequence", rng.standard_normal((SAMPLES, PLACES, width))
    for width in _widths(layers, "in_features", ("Linear",)):
        yield "vector", rng.standard_normal((SAMPLES, width))
    lengths = (PLACES, *_fixed_lengths(network))
    for name, kind in (
        ("in_features", "Linear"),
        ("d_model", "TransformerEncoderLayer"),
        ("embed_dim", "MultiheadAttention"),
    ):
        for width in _widths(layers, name, (kind,)):
            for length in lengths:
                yield "sequence", rng.standard_normal((SAMPLES, length, width))
    for length in lengths[1:] if "Embedding" in kinds else ():
        yield "tokens", rng.integers(1, 12, (SAMPLES, length))
    yield from _rarer_firsts(network, layers, rng)


def _rarer_firsts(
    network: Object, layers: Sequence[Layer], rng: np.random.Generator
) -> Iterator[tuple[str, Array]]:
    """What a network of the usual kind is not given."""
    for channels in _widths(layers, "in_channels", ("ConvTranspose2d",)):
        yield "vector", rng.standard_normal((SAMPLES, channels))
        for size in (1, 4):
            yield "picture", rng.standard_normal((SAMPLES, channels, size, size))
    for width in (*_narrow(layers), *_tables(network), *_beside_embeddings(layers)):
        yield "vector", rng.standard_normal((SAMPLES, width))
    kinds = {layer.kind for layer in layers}
    if {"Conv2d", "Embedding"} <= kinds:
        yield "codes", rng.integers(1, 12, (SAMPLES, *CODES))
    if "Conv2d" in kinds:
        for length in SIGNALS[1:]:  # folded into a picture inside
            yield "signal", rng.standard_normal((SAMPLES, 1, length))


def _fixed_lengths(network: Object) -> list[int]:
    """The lengths of learned tables of places: (1, places, width)."""
    found = [value.shape[1] for value in _weights_in(network, 2) if value.ndim == 3 and value.shape[0] == 1]
    return [length for length in dict.fromkeys(found) if length <= LONGEST_TABLE][:2]


def _tables(network: Object) -> list[int]:
    """How wide a vector is that a bare weight is multiplied with."""
    found = [width for value in _weights_in(network, 2) if value.ndim == 2 for width in value.shape[::-1]]
    return list(dict.fromkeys(found))[:MOST_WIDTHS]


def _weights_in(value: Any, depth: int) -> Iterator[Array]:
    """Bare weights of an object and of the objects it holds."""
    if isinstance(value, Weight):
        yield value
    elif isinstance(value, Object) and depth >= 0:
        for one in value.attributes.values():
            yield from _weights_in(one, depth - 1)


def _narrow(layers: Sequence[Layer]) -> list[int]:
    """What may be joined by something else inside: a network often gives back as much as it is given."""
    known = _widths(layers, "in_features", ("Linear",))
    return [width for width in _widths(layers, "out_features", ("Linear",)) if width not in known]


def _widths(layers: Sequence[Layer], name: str, kinds: Sequence[str]) -> list[int]:
    found: list[int] = []
    for layer in layers:
        width = layer.given.get(name)
        if layer.kind in kinds and isinstance(width, int) and width not in found and len(found) < MOST_WIDTHS:
            found.append(width)
    return found


def _others(
    kind: str, first: Array, count: int, beside: Sequence[int]
) -> Iterator[tuple[tuple[str, ...], tuple[Array, ...]]]:
    """What may be the other arguments; `beside` is how wide what is joined with embeddings may be."""
    if count == 0:
        yield (), ()
        return
    rng = np.random.default_rng(2)
    samples = first.shape[0]
    options: list[tuple[str, Array]] = [
        ("numbers", rng.integers(1, PLACES, samples)),
        ("levels", rng.uniform(0.1, 0.9, samples)),
        ("like the first", np.asarray(rng.standard_normal(first.shape))),
        ("vectors", rng.standard_normal((samples, first.shape[-1]))),
    ]
    if kind == "tokens":
        options[1:1] = [("tokens", rng.integers(1, 12, (samples, OTHER_PLACES)))]
        options.append(("seen", np.asarray(rng.uniform(size=first.shape)) < 0.7))
        options.extend(("vectors", rng.standard_normal((samples, width))) for width in beside)
    if kind == "sequence":
        options.append(("seen", np.asarray(rng.uniform(size=first.shape[:2])) < 0.7))
    if kind in {"tokens", "sequence"}:
        options.append(("pairs", rng.uniform(size=(samples, first.shape[1], first.shape[1]))))
    if kind == "vector":
        options.append(("tokens", rng.integers(1, 12, (samples, OTHER_PLACES))))
        options.append(("neighbours", rng.uniform(size=(samples, samples))))
    for name, array in options:
        for kinds, others in _others(kind, first, count - 1, beside):
            yield (name, *kinds), (array, *others)


def _beside_embeddings(layers: Sequence[Layer]) -> list[int]:
    """What is left of a layer's inputs beside all that is looked up."""
    looked_up = sum(layer.given["embedding_dim"] for layer in layers if layer.kind == "Embedding")
    widths = _widths(layers, "in_features", ("Linear",)) if looked_up else []
    return [width - looked_up for width in widths if width - looked_up > 0][:2]
