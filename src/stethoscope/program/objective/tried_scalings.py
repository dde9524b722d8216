"""The scalings of a denoiser and the weight of its loss, computed from what is minimised.

With `D(y, s) = skip * y + out * F(in * y)` every scaling comes out of the formula by trying it: the skip with
a network that gives zeros, the other with an input of zeros, the third in front of the network. For a spread
d of the data, three of them and the weight of the loss keep everything at unit size (Karras et al.); from
each number follows the d that it was made with. What is called by which name does not matter.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from stethoscope.program.data.ingredients import ingredients, peeled
from stethoscope.program.index import Index
from stethoscope.program.objective.probe import operands_of, score
from stethoscope.program.objective.taken_apart import allow_reading
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.network_passes import is_model_call
from stethoscope.program.walk.values import Applied, Choice, Delayed, FunctionValue, Instance, Site, Value

LEVELS = (0.2, 0.9, 2.5)
SHAPES = ((1, 1, 1, 1), (1, 1, 1), (1, 1))
CLOSE = 1e-3  # relative, of spreads that should be the same
PRECONDITIONED = 2  # scalings that agree on the spread of the data

# The square of the spread that a scaling was made with, at a noise level.
SPREADS: Mapping[str, Callable[[float, float], float]] = {
    "skip": lambda c, s: c * s * s / (1 - c),
    "output": lambda c, s: c * c * s * s / (s * s - c * c),
    "input": lambda c, s: 1 / (c * c) - s * s,
    "weight": lambda c, s: 1 / (c - 1 / (s * s)),
}


@dataclass(frozen=True, slots=True, eq=False)
class MisfitScaling:
    """A scaling that does not fit the others: of another form, or made with another spread of the data."""

    site: Site
    role: str
    spread: float  # that the others were made with
    own_spread: float | None  # that this one was made with, where it has the right form


@remembered
def misfit_scalings(index: Index, settings: SettingsTree) -> tuple[MisfitScaling, ...]:
    """Try every preconditioned denoiser that is trained."""
    found: dict[object, MisfitScaling] = {}
    for one in minimised(index, settings):
        allow_reading(one.run)
        try:
            with warnings.catch_warnings():  # shapes that fit in no way
                warnings.simplefilter("ignore")
                for misfit in _in(one):
                    found.setdefault((id(misfit.site.node), misfit.role), misfit)
        except (Exhausted, RecursionError):
            continue
    return tuple(found.values())


def _in(one: Minimised) -> Iterator[MisfitScaling]:
    for value in ingredients(one.run, one.sink.value):
        if isinstance(value, Delayed) and _is_pass(value) and len(value.args) > 1:
            yield from _of_denoiser(one, value)


def _is_pass(value: Delayed) -> bool:
    """Whether a call runs a module; one that only wraps a network makes no layers of its own."""
    callee = value.callee
    if not isinstance(callee, FunctionValue) or not isinstance(callee.bound, Instance):
        return False
    return callee.function.name in {"forward", "__call__"}


def _of_denoiser(one: Minimised, call: Delayed) -> Iterator[MisfitScaling]:
    scalings = _scalings(one.run, call)
    spreads = {role: _spread(role, numbers) for role, numbers in scalings.items()}
    known = [spread for spread in spreads.values() if spread is not None]
    agreed = next((a for a in known if sum(_is_same(a, b) for b in known) >= PRECONDITIONED), None)
    if agreed is None:
        return
    weight = _weights(one, call)
    if weight is not None and _spread("weight", weight) is not None:
        spreads["weight"] = _spread("weight", weight)
    elif weight is not None and _is_turned(weight, scalings["output"]):
        spreads["weight"] = None
    for role, spread in spreads.items():
        if spread is None or not _is_same(spread, agreed):
            yield MisfitScaling(
                call.site if role == "weight" else _formula(one.run, call), role, agreed, spread
            )


def _is_turned(weight: Sequence[float], output: Sequence[float]) -> bool:
    """Whether a weight grows with what the output is multiplied with, in the place of making up for it."""
    shares = [one / scale**2 for one, scale in zip(weight, output, strict=True) if scale]
    return len(shares) == len(weight) and all(_is_same(shares[0], share) for share in shares)


def _formula(run: Execution, call: Delayed) -> Site:
    inner = run.expand(call)
    return inner.site if isinstance(inner, Applied | Delayed) else call.site


def _is_same(one: float, other: float) -> bool:
    return abs(one - other) <= CLOSE * max(abs(one), abs(other))


def _spread(role: str, numbers: Sequence[float]) -> float | None:
    """The one spread that a scaling was made with at all levels; None where it has another form."""
    try:
        squares = [SPREADS[role](number, level) for number, level in zip(numbers, LEVELS, strict=True)]
    except ZeroDivisionError:
        return None
    if min(squares) <= 0 or not all(np.isfinite(squares)):
        return None
    spreads = [float(np.sqrt(square)) for square in squares]
    return spreads[0] if all(_is_same(spreads[0], other) for other in spreads) else None


def _scalings(run: Execution, call: Delayed) -> dict[str, list[float]]:
    """What the skip, the network's output and its input are multiplied with, at each level."""
    noisy, level = call.args[:2]
    inner = run.expand(call)
    if isinstance(inner, Choice):
        return {}
    given = frozenset({id(noisy), id(level)})
    inside = [one for one in operands_of(run.index, inner, given) if is_model_call(run.index, one)]
    if len(inside) != 1 or not isinstance(inside[0], Applied | Delayed):
        return {}
    network = inside[0]
    fed = network.args[1] if isinstance(network, Applied) and network.callee == "()" else network.args[0]
    tried = {
        "skip": _at_levels(run.index, inner, (noisy, level, network), (1.0, 0.0)),
        "output": _at_levels(run.index, inner, (noisy, level, network), (0.0, 1.0)),
        "input": _at_levels(run.index, fed, (noisy, level), (1.0,)),
    }
    if any(numbers is None for numbers in tried.values()):
        return {}
    return {role: numbers for role, numbers in tried.items() if numbers is not None}


def _at_levels(
    index: Index, value: Value, operands: tuple[Value, ...], sizes: tuple[float, ...]
) -> list[float] | None:
    """A value at each noise level, with data of one size and a network's output of another."""
    for shape in SHAPES:
        for level_shape in ((1,), shape):
            found: list[float] = []
            for level in LEVELS:
                arrays = [np.full(shape, size) for size in sizes]
                arrays.insert(1, np.full(level_shape, level))
                number = score(index, value, operands, arrays)
                if number is None or not np.isfinite(number):
                    break
                found.append(number)
            if len(found) == len(LEVELS):
                return found
    return None


def _weights(one: Minimised, call: Delayed) -> list[float] | None:
    """What the squared error is multiplied with, at each level; None where it cannot be computed."""
    level = call.args[1]
    given = frozenset({id(call), id(level), id(peeled(level))})
    loss = one.sink.value
    for _ in range(8):
        if not isinstance(loss, Delayed):
            break
        loss = one.run.expand(loss)
    others = [
        operand
        for operand in operands_of(one.run.index, loss, given)
        if operand is not call and operand is not level and operand is not peeled(level)
    ]
    if len(others) != 1:
        return None
    for used in (level, peeled(level)):
        found = _at_levels(one.run.index, loss, (call, used, others[0]), (1.0, 0.0))
        if found is not None:
            return found
    return None
