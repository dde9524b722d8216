"""How much data and how much noise is in a value, where it is a sum of the two.

Scales are computed as numbers: unknown ones get a number of their own, the level that a network is told the
same everywhere. So a formula that is written in another way, or by another function, gives the same parts.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stethoscope.program.data.ingredients import LAYOUT, is_drawn
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.network_passes import is_model_call
from stethoscope.program.walk.values import (
    Applied,
    Constant,
    Delayed,
    Instance,
    Items,
    Leaf,
    Outside,
    Part,
    Value,
)

DEPTH = 40
UNKNOWN = 0.6  # a scale that nothing is known of
LEVEL = 0.37  # the noise level that a network is told

OPERATORS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "subtract": "-",
    "multiply": "*",
    "true_divide": "/",
}
SCALAR: Mapping[str, Callable[[float], float]] = {
    "sqrt": lambda x: math.sqrt(abs(x)),
    "rsqrt": lambda x: 1 / math.sqrt(abs(x)),
    "cos": math.cos,
    "sin": math.sin,
    "exp": lambda x: math.exp(min(x, 50.0)),
    "sigmoid": lambda x: 1 / (1 + math.exp(-max(x, -50.0))),
    "square": lambda x: x * x,
    "reciprocal": lambda x: 1 / x,
}
# What is applied to both sides of a comparison alike.
LINEAR = LAYOUT | {
    "clamp",
    "clip",
    "diff",
    "fft2",
    "rfft2",
    "fft",
    "rfft",
    "avg_pool2d",
    "interpolate",
    "pad",
}


@dataclass(frozen=True, slots=True)
class Parts:
    """`scale` for a plain number; `data` and `noise` for what is made of them."""

    scale: float = 0.0
    data: float = 0.0
    noise: float = 0.0

    @property
    def is_scale(self) -> bool:
        """Whether neither data nor noise is in it."""
        return self.data == 0 == self.noise

    def times(self, factor: float) -> Parts:
        """All parts, scaled."""
        return Parts(self.scale * factor, self.data * factor, self.noise * factor)

    def plus(self, other: Parts, sign: int = 1) -> Parts:
        """The sum, or the difference."""
        return Parts(
            self.scale + sign * other.scale, self.data + sign * other.data, self.noise + sign * other.noise
        )


def parts_of(run: Execution, value: Value, known: Mapping[int, Parts], depth: int = DEPTH) -> Parts | None:
    """The parts of a value; `known` are those of values by their identity. None where it is no such sum."""
    if id(value) in known:
        return known[id(value)]
    if depth == 0:
        return None
    match value:
        case Constant(value=bool()):
            return None
        case Constant(value=int() | float() as number):
            return Parts(float(number))
        case Applied(callee=callee, args=[first, *_]) if callee == "[]" or _last(callee) in LINEAR:
            return parts_of(run, first, known, depth - 1)
        case Applied():
            return _of_operation(run, value, known, depth)
        case Delayed():
            if is_model_call(run.index, value):
                return None
            return parts_of(run, run.expand(value), known, depth - 1)
        case Part(base=base, key=int() as place):
            made = run.force(base)
            if isinstance(made, Items) and -len(made.items) <= place < len(made.items):
                return parts_of(run, made.items[place], known, depth - 1)
            return Parts(UNKNOWN)
        case Part(key=str() as key):
            return Parts(0.3 + 0.5 * (zlib.crc32(key.encode()) % 97) / 97 if key != "*" else UNKNOWN)
        case Outside(name="math.pi" | "numpy.pi" | "torch.pi"):
            return Parts(math.pi)
        case Leaf() | Part() | Outside():
            return Parts(UNKNOWN)
        case Instance() | Items():
            return None
    return None


def _of_operation(run: Execution, value: Applied, known: Mapping[int, Parts], depth: int) -> Parts | None:
    last = _last(value.callee)
    symbol = OPERATORS.get(last, value.callee)
    if value.callee == "()" or value.callee.endswith("()") or is_drawn(value):
        return Parts(UNKNOWN) if is_drawn(value) else None
    inside = [parts_of(run, arg, known, depth - 1) for arg in value.args if not _is_option(arg)]
    if any(one is None for one in inside) and symbol in {"+", "-", "*", "/", "neg", "**"}:
        return None
    given = [one for one in inside if one is not None]
    try:
        return _combined(symbol, last, given)
    except (ZeroDivisionError, OverflowError, ValueError):
        return None


def _combined(symbol: str, last: str, given: list[Parts]) -> Parts | None:
    match symbol, given:
        case "neg", [one]:
            return one.times(-1)
        case "+", [left, right]:
            return left.plus(right)
        case "-", [left, right]:
            return left.plus(right, -1)
        case "*", [left, right] if left.is_scale or right.is_scale:
            return right.times(left.scale) if left.is_scale else left.times(right.scale)
        case "/", [left, right] if right.is_scale:
            return left.times(1 / right.scale)
        case "**", [left, right] if left.is_scale and right.is_scale:
            return Parts(abs(left.scale) ** right.scale)
    if not all(one.is_scale for one in given):
        return None
    if last == "arange" and given:  # somewhere along the way
        return Parts(UNKNOWN * given[min(1, len(given) - 1)].scale)
    if last == "linspace" and len(given) > 1:
        return Parts(given[0].scale + UNKNOWN * (given[1].scale - given[0].scale))
    if last in SCALAR and given:
        return Parts(SCALAR[last](given[0].scale))
    return Parts(UNKNOWN)


def _is_option(value: Value) -> bool:
    return isinstance(value, Constant) and isinstance(value.value, str | bool | None)


def _last(callee: str) -> str:
    return callee.rpartition(".")[2]
