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
from stethoscope.program.experiments.running import Unlisted
from stethoscope.program.experiments.things import Array, Object
from stethoscope.program.index import Function
from stethoscope.program.walk.bounded_arrays import CannotCompute

# Sizes that no layer is likely to have, so that an axis is known by its length.
SAMPLES = 5
PLACES = 7
OTHER_PLACES = 9  # of a second sequence
PICTURES = (16, 32, 28, 64, 24, 48)
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
    for kind, first in _firsts(run.layers):
        for kinds, others in _others(kind, first, len(names) - 1):
            tries -= 1
            if tries < 0:
                return None
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


def _firsts(layers: Sequence[Layer]) -> Iterator[tuple[str, Array]]:
    """What may be the first argument, by the kinds of layers there are."""
    rng = np.random.default_rng(1)
    kinds = {layer.kind for layer in layers}
    if kinds & {"Embedding", KIND}:
        yield "tokens", rng.integers(1, 12, (SAMPLES, PLACES))
    for channels in _widths(layers, "in_channels", ("Conv2d",)):
        for size in PICTURES:
            yield "picture", rng.standard_normal((SAMPLES, channels, size, size))
    for channels in _widths(layers, "in_channels", ("Conv1d",)):
        for length in (32, 96, 256):
            yield "signal", rng.standard_normal((SAMPLES, channels, length))
    recurrent = ("LSTM", "GRU", "RNN")
    for width in _widths(layers, "input_size", recurrent):
        yield "sequence", rng.standard_normal((SAMPLES, PLACES, width))
    for width in _widths(layers, "in_channels", ("Conv1d",)):  # which is turned before the convolution
        yield "sequence", rng.standard_normal((SAMPLES, PLACES, width))
    for width in _widths(layers, "in_features", ("Linear",)):
        yield "vector", rng.standard_normal((SAMPLES, width))
    for name, kind in (
        ("in_features", "Linear"),
        ("d_model", "TransformerEncoderLayer"),
        ("embed_dim", "MultiheadAttention"),
    ):
        for width in _widths(layers, name, (kind,)):
            yield "sequence", rng.standard_normal((SAMPLES, PLACES, width))
    for width in _narrow(layers):
        yield "vector", rng.standard_normal((SAMPLES, width))


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


def _others(kind: str, first: Array, count: int) -> Iterator[tuple[tuple[str, ...], tuple[Array, ...]]]:
    """What may be the other arguments."""
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
    for name, array in options:
        for kinds, others in _others(kind, first, count - 1):
            yield (name, *kinds), (array, *others)
