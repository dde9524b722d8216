"""How large the terms of a loss are against each other, computed on small and large pictures.

The minimised value is taken apart at its sums. Each addend that compares a prediction with a target is
computed by its own formula, weight included, on pictures whose error is known. Nothing of the program runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from stethoscope.program.calls import is_network_pass
from stethoscope.program.execution import STEPS, Execution, Exhausted
from stethoscope.program.index import Index
from stethoscope.program.minimised import Minimised, minimised
from stethoscope.program.probe import operands_of, score
from stethoscope.program.remembered import remembered
from stethoscope.program.settings_tree import SettingsTree
from stethoscope.program.tensor_operations import LAYERS
from stethoscope.program.values import Applied, Choice, Constant, Delayed, Site, Value, inputs

SMALL, LARGE = 32, 64  # sides of the pictures
ERRORS = (0.02, 0.2)  # standard deviations of a good and of a poor prediction, of values between 0 and 1
MOST_TERMS = 12
MOST_VISITED = 400
DEPTH = 30


@dataclass(frozen=True, slots=True, eq=False)
class TermSize:
    """One addend of a minimised value and how large it is.

    `sizes` maps (side of the picture, error) to the number; `is_spectral` says that it goes through a
    Fourier transform, and `spectrum` is where. `sink` tells the backward pass it belongs to.
    """

    site: Site
    sizes: Mapping[tuple[int, float], float]
    is_spectral: bool
    spectrum: Site | None
    sink: Site

    @property
    def growth(self) -> float:
        """The factor by which it grows when the side of the picture doubles."""
        return self.sizes[LARGE, ERRORS[0]] / max(self.sizes[SMALL, ERRORS[0]], 1e-300)


@remembered
def term_sizes(index: Index, settings: SettingsTree) -> tuple[tuple[TermSize, ...], ...]:
    """For every minimised value the sizes of the addends that could be computed, where there are several."""
    found: dict[int, tuple[TermSize, ...]] = {}
    for one in minimised(index, settings):
        if id(one.sink.site.node) in found:
            continue
        one.run.steps = max(one.run.steps, STEPS // 2)
        try:
            terms = tuple(_sized(one, index))
        except (Exhausted, RecursionError):
            continue
        if terms:
            found[id(one.sink.site.node)] = terms
    return tuple(found.values())


def _sized(one: Minimised, index: Index) -> Iterator[TermSize]:
    addends = list(_addends(one.run, one.sink.value, DEPTH))[:MOST_TERMS]
    for addend in addends if len(addends) > 1 else ():
        operands = [value for value in operands_of(index, addend) if not _is_layer(value)]
        if len(operands) != 2 or not isinstance(addend, Applied | Delayed):
            continue
        sizes = _sizes(index, addend, (operands[0], operands[1]))
        if sizes is not None:
            spectrum = _spectrum(one.run, addend)
            yield TermSize(addend.site, sizes, spectrum is not None, spectrum, one.sink.site)


def _is_layer(value: Value) -> bool:
    """`nn.L1Loss()`: what computes, not what is compared."""
    return isinstance(value, Applied) and value.callee in LAYERS


def _addends(run: Execution, value: Value, depth: int) -> Iterator[Value]:
    """The parts of a sum, looked for inside the functions that make it."""
    match value:
        case Applied(callee="+", args=[left, right]) if depth:
            yield from _addends(run, left, depth - 1)
            yield from _addends(run, right, depth - 1)
        case Delayed() if depth and not is_network_pass(run.index, value):
            inner = list(_addends(run, run.expand(value), depth - 1))
            yield from inner if len(inner) > 1 else [value]
        case Choice():
            return
        case Constant():
            return
        case _:
            yield value


def _sizes(
    index: Index, value: Value, operands: tuple[Value, Value]
) -> dict[tuple[int, float], float] | None:
    sizes: dict[tuple[int, float], float] = {}
    for side in (SMALL, LARGE):
        rng = np.random.default_rng(side)
        target = rng.uniform(0.2, 0.8, (1, 3, side, side))
        noise = rng.normal(size=target.shape)
        for error in ERRORS:
            number = score(index, value, operands, (target + error * noise, target))
            if number is None or not np.isfinite(number):
                return None
            sizes[side, error] = abs(number)
    return sizes


def _spectrum(run: Execution, value: Value) -> Site | None:
    """The Fourier transform inside a value, networks not entered."""
    seen: set[int] = set()
    waiting = [value]
    while waiting and len(seen) < MOST_VISITED:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, Applied) and ".fft." in f".{current.callee}":
            return current.site
        if isinstance(current, Delayed) and not is_network_pass(run.index, current):
            waiting.append(run.expand(current))
        waiting.extend(inputs(current))
    return None
