"""The scalings of a denoiser by the noise level, held against the ones that keep everything at unit size.

Karras et al. give four functions of the noise level s and the spread d of the data: what the input is
multiplied with, what the skip and the network's output are multiplied with, and the weight of the loss that
makes up for the last. The formulas that a function writes are computed for a few numbers. Where at least
one of them is exactly one of these, another that goes by the name of one must be it as well.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from stethoscope.program.index import Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.weights.numbers import number
from stethoscope.run import Source

DEPTH = 24
POINTS = ((0.3, 0.7), (1.9, 0.4), (2.3, 1.6))
CLOSE = 1e-6
NOISE_LEVELS = frozenset({"sigma", "sigmas", "s", "noise", "level", "t", "std"})
DATA_SPREADS = frozenset({"data"})

Formula = Callable[[float, float], float]
SCALINGS: Mapping[str, Formula] = {
    "skip": lambda s, d: d * d / (s * s + d * d),
    "out": lambda s, d: s * d / math.sqrt(s * s + d * d),
    "in": lambda s, d: 1 / math.sqrt(s * s + d * d),
}
CALLED = {"skip": "skip", "out": "out", "output": "out", "in": "in", "inp": "in", "input": "in"}


@dataclass(frozen=True, slots=True, eq=False)
class OddScaling:
    """A scaling that is not what its name says, beside others that are."""

    source: Source
    node: ast.expr
    name: str
    role: str


def odd_scalings(index: Index) -> Iterator[OddScaling]:
    """Every scaling of a denoiser that does not fit the others of its function."""
    for function in index.functions:
        if is_test(function.source) or "data" not in function.source.text:
            continue
        named = dict(_named(function))
        if len(named) < 2:
            continue
        values = {role: _computed(function, node) for role, (_, node) in named.items()}
        right = [role for role, found in values.items() if found is not None and _is(found, SCALINGS[role])]
        for role, (name, node) in named.items():
            if right and values[role] is not None and role not in right:
                yield OddScaling(function.source, node, name, role)


def _named(function: Function) -> Iterator[tuple[str, tuple[str, ast.expr]]]:
    """The scalings by what they are called: `c_skip`, `c_out`, `c_in`, or skip, out and inp."""
    for node in own_nodes(function.node, ast.Assign):
        for target, value in _pairs(node):
            said = words(target)
            roles = {CALLED[word] for word in said if word in CALLED}
            is_scaling = len(said) == 1 or {"c", "scale", "scaling", "coef", "precond"} & set(said)
            is_plain = not isinstance(value, ast.Call | ast.Name | ast.Tuple)
            if len(roles) == 1 and is_scaling and (is_plain or _is_formula(value)):
                yield roles.pop(), (target, value)


def _pairs(node: ast.Assign) -> Iterator[tuple[str, ast.expr]]:
    for target in node.targets:
        if isinstance(target, ast.Name):
            yield target.id, node.value
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            for one, value in zip(target.elts, node.value.elts, strict=False):
                if isinstance(one, ast.Name):
                    yield one.id, value


def _is_formula(call: ast.expr) -> bool:
    if not isinstance(call, ast.Call):
        return False
    last = str(getattr(call.func, "attr", None) or getattr(call.func, "id", ""))
    return last in {"sqrt", "rsqrt", "reciprocal", "pow"}


def _computed(function: Function, node: ast.expr) -> list[float] | None:
    """What a formula gives at each of a few points; None where it is made of anything else."""
    found = [_value(function, node, s, d, DEPTH) for s, d in POINTS]
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else None


def _is(found: list[float], formula: Formula) -> bool:
    return all(abs(one - formula(s, d)) < CLOSE for one, (s, d) in zip(found, POINTS, strict=True))


def _value(function: Function, node: ast.expr, s: float, d: float, depth: int) -> float | None:
    if depth == 0:
        return None
    plain = number(node)
    if plain is not None:
        return plain
    match node:
        case ast.BinOp(left=left, op=operator, right=right):
            first = _value(function, left, s, d, depth - 1)
            second = _value(function, right, s, d, depth - 1)
            return _joined(operator, first, second)
        case ast.Name(id=name):
            given = [
                value for one in own_nodes(function.node, ast.Assign) for t, value in _pairs(one) if t == name
            ]
            if len(given) == 1 and not _is_layout(given[0]):
                return _value(function, given[0], s, d, depth - 1)
            return _level(name, s, d)
        case ast.Attribute(attr=name):
            return _level(name, s, d)
        case ast.Subscript(value=inner):
            return _value(function, inner, s, d, depth - 1)
        case ast.Call():
            return _called(function, node, s, d, depth)
    return None


def _is_layout(node: ast.expr) -> bool:
    """`sigma.view(-1, 1)`: the same level, laid out."""
    return isinstance(node, ast.Call) and not _is_formula(node)


def _level(name: str, s: float, d: float) -> float | None:
    said = set(words(name))
    if said & DATA_SPREADS and said & {"sigma", "std", "spread", "scale"}:
        return d
    return s if said & NOISE_LEVELS else None


def _joined(operator: ast.operator, first: float | None, second: float | None) -> float | None:
    if first is None or second is None:
        return None
    try:
        match operator:
            case ast.Add():
                return first + second
            case ast.Sub():
                return first - second
            case ast.Mult():
                return first * second
            case ast.Div():
                return first / second
            case ast.Pow():
                return float(first**second)
    except (ArithmeticError, TypeError):
        return None
    return None


def _called(function: Function, call: ast.Call, s: float, d: float, depth: int) -> float | None:
    last = str(getattr(call.func, "attr", None) or getattr(call.func, "id", ""))
    is_method = isinstance(call.func, ast.Attribute) and not (
        isinstance(call.func.value, ast.Name) and call.func.value.id in {"torch", "math", "np", "F"}
    )
    given = [call.func.value, *call.args] if is_method and isinstance(call.func, ast.Attribute) else call.args
    first = _value(function, given[0], s, d, depth - 1) if given else None
    if first is None or first < 0:
        return None
    match last:
        case "sqrt":
            return math.sqrt(first)
        case "rsqrt":
            return 1 / math.sqrt(first) if first else None
        case "reciprocal":
            return 1 / first if first else None
        case "square":
            return first * first
        case "pow":
            power = number(given[1]) if len(given) > 1 else None
            return float(first**power) if power is not None else None
        case "view" | "reshape" | "to" | "float" | "unsqueeze" | "expand" | "append_dims" | "expand_dims":
            return first
    return None
