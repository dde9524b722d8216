"""The divergence of a normal distribution from the standard one, written out by hand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.program.index import Index
from stethoscope.program.objective.probe import operands_of, score
from stethoscope.program.walk.values import Applied, Part, Value, inputs

SIZE = 16
MOST_VISITED = 60
CUTTING = frozenset({"chunk", "split", "unbind", "tensor_split"})
# Means and log-variances away from zero, where a divergence from the standard normal is above zero.
TRIED = ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0), (1.5, 1.5), (-0.5, 0.7))


def is_negative_divergence(index: Index, value: Applied) -> bool:
    """Whether a formula is zero for the standard normal and below zero elsewhere: `1 + s - m**2 - exp(s)`."""
    if not _has_exponential(value):
        return False
    operands = operands_of(index, value, frozenset(_pieces(value)))
    if len(operands) != 2:
        return False
    for pair in (operands, operands[::-1]):
        found = [score(index, value, pair, _arrays(*point)) for point in ((0.0, 0.0), *TRIED)]
        first, *others = found
        if first is not None and abs(first) < 1e-9:
            return all(one is not None and one < -1e-6 for one in others)
    return False


def _pieces(value: Value) -> Iterator[int]:
    """The ids of what one output was cut into: `mean, log_variance = encoder(x).chunk(2, -1)`."""
    waiting, seen = [value], set[int]()
    while waiting and len(seen) < MOST_VISITED:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        base = current.base if isinstance(current, Part) else None
        if isinstance(current, Applied) and current.callee == "[]":
            base = current.args[0]
        if isinstance(base, Applied) and base.callee.rpartition(".")[2] in CUTTING:
            yield id(current)
        else:
            waiting.extend(inputs(current))


def _arrays(mean: float, log_variance: float) -> tuple[np.ndarray, np.ndarray]:
    return np.full((SIZE, SIZE), mean), np.full((SIZE, SIZE), log_variance)


def _has_exponential(value: Value) -> bool:
    waiting, seen = [value], set[int]()
    while waiting and len(seen) < MOST_VISITED:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, Applied):
            if current.callee.rpartition(".")[2] == "exp":
                return True
            if current.callee in {"-", "+", "*", "/", "**", "neg"}:
                waiting.extend(inputs(current))
    return False
