"""The weights that a network begins with: as torch makes them, and as the program fills them then."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stethoscope.program.experiments.layers import Layer
from stethoscope.program.experiments.things import Array, Invented, Object, Weight
from stethoscope.program.walk.bounded_arrays import CannotCompute

if TYPE_CHECKING:
    from stethoscope.program.experiments.interpreter import Interpreter

DEPTH = 20
# What the weights of a layer are called that has several.
_NAMES = {
    "q": "in_proj_weight", "k": "in_proj_weight", "v": "in_proj_weight", "o": "out_proj.weight",
    "in": "weight_ih", "on": "weight_hh",
}  # fmt: skip
_INNER = {
    2: ("linear1", "linear2"),
    3: ("self_attn", "linear1", "linear2"),
    4: ("self_attn", "multihead_attn", "linear1", "linear2"),
}
# What nn.init.calculate_gain gives; a leaky slope is the one that it assumes itself.
_GAINS = {"relu": math.sqrt(2.0), "tanh": 5.0 / 3.0, "leaky_relu": math.sqrt(2.0 / 1.0001), "selu": 0.75}


def as_made(layer: Layer, chance: np.random.Generator) -> None:
    """Fill a layer's weights as torch does when it makes one."""
    for inner in layer.inner:
        as_made(inner, chance)
    weights = layer.weights
    for name, weight in weights.items():
        if isinstance(weight, np.ndarray):
            weights[name] = _made(layer, name, np.asarray(weight), chance).view(Weight)


def _made(layer: Layer, name: str, weight: Array, chance: np.random.Generator) -> Array:
    kind = layer.kind
    if kind == "Embedding":
        made = np.asarray(chance.standard_normal(weight.shape))
        if isinstance(layer.given.get("padding_idx"), int):
            made[layer.given["padding_idx"] % len(made)] = 0.0
        return made
    if "Norm" in kind:
        return np.full(weight.shape, 1.0 if name == "weight" else 0.0)
    if kind == "MultiheadAttention" and name != "o":
        limit = math.sqrt(6.0 / (weight.shape[1] + 3 * weight.shape[0]))
    elif name == "bias":
        limit = max(fan_in(layer.weights["weight"]), 1) ** -0.5
    elif kind in {"LSTM", "GRU", "RNN", "LSTMCell", "GRUCell"}:
        limit = max(int(layer.given["hidden_size"]), 1) ** -0.5
    else:
        limit = max(fan_in(weight), 1) ** -0.5
    return np.asarray(chance.uniform(-limit, limit, weight.shape))


def fan_in(weight: Array) -> int:
    """How many numbers one output is summed over, as torch counts it."""
    return int(np.prod(weight.shape[1:])) if weight.ndim > 1 else 1


def filled(run: Interpreter, name: str, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """`torch.nn.init.name_(tensor, ...)` writes into the tensor itself."""
    if name == "calculate_gain":
        return _gain(args[0], args[1] if len(args) > 1 else keywords.get("param"))
    given = list(args)
    target = given.pop(0) if given else keywords.get("tensor")
    if target is None:
        return None  # a bias that is not there raises in torch, so that this is never reached
    if not isinstance(target, np.ndarray):
        raise CannotCompute("what is filled is not known")
    way = _WAYS.get(name.rstrip("_"))
    if way is None:
        raise CannotCompute(name)
    others = {key: value for key, value in keywords.items() if key not in {"tensor", "generator"}}
    target[...] = way(run.chance, target, *given, **others)
    return target


def _gain(nonlinearity: Any, slope: Any = None) -> float:
    if nonlinearity == "leaky_relu" and isinstance(slope, int | float):
        return math.sqrt(2.0 / (1.0 + float(slope) ** 2))
    return _GAINS.get(str(nonlinearity), 1.0)


def _normal(chance: np.random.Generator, x: Array, mean: Any = 0.0, std: Any = 1.0, *_: Any) -> Array:
    return np.asarray(chance.normal(_number(mean), abs(_number(std)), x.shape))


def _truncated(
    chance: np.random.Generator, x: Array, mean: Any = 0.0, std: Any = 1.0, a: Any = -2.0, b: Any = 2.0
) -> Array:
    made = chance.normal(_number(mean), abs(_number(std)), x.shape)
    return np.asarray(np.clip(made, _number(a), _number(b)))


def _uniform(chance: np.random.Generator, x: Array, a: Any = 0.0, b: Any = 1.0) -> Array:
    return np.asarray(chance.uniform(_number(a), _number(b), x.shape))


def _xavier(chance: np.random.Generator, x: Array, gain: Any = 1.0) -> Array:
    spread = x.shape[0] * (x[0, 0].size if x.ndim > 2 else 1) + fan_in(x)
    return np.asarray(chance.normal(0.0, _number(gain) * math.sqrt(2.0 / spread), x.shape))


def _kaiming(
    chance: np.random.Generator,
    x: Array,
    a: Any = 0.0,
    mode: Any = "fan_in",
    nonlinearity: Any = "leaky_relu",
) -> Array:
    fan = fan_in(x) if mode == "fan_in" else x.shape[0] * (x[0, 0].size if x.ndim > 2 else 1)
    gain = _gain(nonlinearity, a)
    return np.asarray(chance.normal(0.0, gain / math.sqrt(max(fan, 1)), x.shape))


def _orthogonal(chance: np.random.Generator, x: Array, gain: Any = 1.0) -> Array:
    flat = chance.standard_normal((x.shape[0], fan_in(x)))
    tall = flat if flat.shape[0] >= flat.shape[1] else flat.T
    basis = np.linalg.qr(tall)[0]
    basis = basis if flat.shape[0] >= flat.shape[1] else basis.T
    return np.asarray(_number(gain) * basis.reshape(x.shape))


def _constant(_: np.random.Generator, x: Array, val: Any) -> Array:
    return np.full(x.shape, _number(val))


_WAYS: dict[str, Callable[..., Array]] = {
    "normal": _normal, "trunc_normal": _truncated, "uniform": _uniform, "constant": _constant,
    "zeros": lambda chance, x: np.zeros(x.shape), "ones": lambda chance, x: np.ones(x.shape),
    "xavier_normal": _xavier, "xavier_uniform": _xavier, "glorot_uniform": _xavier,
    "kaiming_normal": _kaiming, "kaiming_uniform": _kaiming, "orthogonal": _orthogonal,
}  # fmt: skip


_IN_PLACE = {"normal": "normal", "uniform": "uniform", "fill": "constant"}


def drawn_in_place(run: Interpreter, name: str, target: Array, args: Sequence[Any], keywords: Any) -> bool:
    """`weight.normal_(0, std)` and the like; whether it is one of them."""
    if name not in _IN_PLACE:
        return False
    way = _WAYS[_IN_PLACE[name]]
    target[...] = way(run.chance, target, *args, **{k: v for k, v in keywords.items() if k != "generator"})
    return True


def _number(value: Any) -> float:
    if isinstance(value, Invented):
        raise CannotCompute("weights of an invented size")
    if isinstance(value, np.ndarray) and value.size == 1:
        return float(value.reshape(-1)[0])
    if not isinstance(value, int | float | np.generic):
        raise CannotCompute("weights of an unknown size")
    return float(value)


def copied(layer: Layer, into: Layer) -> None:
    """Give a copy of a layer the weights that it was copied from."""
    for name, weight in layer.weights.items():
        into.weights[name] = np.array(weight).view(Weight) if isinstance(weight, np.ndarray) else weight
    for one, other in zip(layer.inner, into.inner, strict=True):
        copied(one, other)


# What a network consists of


def parts(of: Any, name: str = "", depth: int = DEPTH) -> Iterator[tuple[str, Any]]:
    """Each network and layer of a network by its name, the outermost first, each once."""
    yield from _parts(of, name, depth, set())


def _parts(of: Any, name: str, depth: int, seen: set[int]) -> Iterator[tuple[str, Any]]:
    if depth == 0 or id(of) in seen:
        return
    seen.add(id(of))
    if isinstance(of, Object | Layer | list | dict):
        yield name, of
    for key, child in _children(of):
        yield from _parts(child, f"{name}.{key}" if name else key, depth - 1, seen)


def _children(of: Any) -> Iterator[tuple[str, Any]]:
    match of:
        case Object():
            pairs = [(key, value) for key, value in of.attributes.items() if key != "_modules"]
            chained = of.attributes.get("_modules")
            known = {id(value) for _, value in pairs}
            if isinstance(chained, list):
                pairs += [(str(i), value) for i, value in enumerate(chained) if id(value) not in known]
        case Layer():
            names = _INNER.get(len(of.inner), ())
            pairs = list(zip(names, of.inner, strict=False)) or [
                (f"layers.{i}", inner) for i, inner in enumerate(of.inner)
            ]
        case list():
            pairs = [(str(i), value) for i, value in enumerate(of)]
        case dict():
            pairs = [(str(key), value) for key, value in of.items()]
        case _:
            return
    for key, value in pairs:
        if _is_part(value):
            yield key, value


def _is_part(value: Any) -> bool:
    if isinstance(value, list):
        return any(_is_part(one) for one in value)
    if isinstance(value, dict):
        return any(_is_part(one) for one in value.values())
    return isinstance(value, Object | Layer)


def children_of(of: Any) -> list[Any]:
    """The networks and layers right inside one."""
    return [child for _, child in _children(of)]


def parameters(of: Any) -> list[tuple[str, Array]]:
    """Each learned tensor of a network by its name, each once."""
    found: dict[int, tuple[str, Array]] = {}
    for name, part in parts(of):
        before = f"{name}." if name else ""
        for key, weight in _own(part):
            if isinstance(weight, Weight):
                found.setdefault(id(weight), (before + key, weight))
    return list(found.values())


def _own(part: Any) -> Iterator[tuple[str, Any]]:
    match part:
        case Layer():
            for key, weight in part.weights.items():
                plain = key.rstrip("0123456789")
                yield _NAMES.get(plain, plain), weight
        case Object():
            yield from part.attributes.items()
        case list():
            yield from ((str(i), value) for i, value in enumerate(part))
        case dict():
            yield from ((str(key), value) for key, value in part.items())


def applied(run: Interpreter, of: Any, function: Any) -> Any:
    """`net.apply(function)`: every part is given to it, the innermost first."""
    done: set[int] = set()
    _apply(run, of, function, done, DEPTH)
    return of


def _apply(run: Interpreter, of: Any, function: Any, done: set[int], depth: int) -> None:
    if depth == 0 or id(of) in done:
        return
    done.add(id(of))
    for child in children_of(of):
        _apply(run, child, function, done, depth - 1)
    run.call(function, (of,), {})
