"""Which arguments of a network are worked with while it is computed, and not only looked at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from stethoscope.program.experiments.layers import Packed
from stethoscope.program.experiments.things import Array

# Other ways to hold the same numbers, and questions about them.
_HOLDING = frozenset({"float", "double", "half", "long", "int", "bool", "to", "type", "logical_not", "clone"})


class Consumption:
    """Follows the arguments through views, casts and comparisons to what computes with them."""

    def __init__(self, arguments: Iterable[Array] = ()) -> None:
        self._held = list(arguments)  # kept, so that no other array gets their identity
        self._which = {id(_root(one)): place for place, one in enumerate(self._held)}
        self.consumed: set[int] = set()  # places of the arguments that something was computed with

    def computed(self, operands: Iterable[Any], result: Any, name: str = "") -> None:
        """Something was computed; `name` is the function's or method's."""
        if not self._which:
            return
        places = {self._which[id(_root(x))] for x in _arrays(operands) if id(_root(x)) in self._which}
        if not places or not any(True for _ in _arrays((result,))):
            return
        if isinstance(result, np.ndarray) and id(_root(result)) in self._which:
            return  # a view of it
        if name in _HOLDING and isinstance(result, np.ndarray):
            self._hold(result, min(places))
        else:
            self.consumed |= places

    def asked(self, operands: Iterable[Any], result: Any) -> None:
        """Something was compared: what comes out stands for the argument."""
        for x in _arrays(operands):
            if id(_root(x)) in self._which and isinstance(result, np.ndarray):
                self._hold(result, self._which[id(_root(x))])

    def _hold(self, result: Array, place: int) -> None:
        self._held.append(result)
        self._which[id(_root(result))] = place


def _arrays(values: Iterable[Any]) -> Iterable[Array]:
    for value in values:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, Packed):
            yield value.rows
        elif isinstance(value, list | tuple):
            yield from _arrays(value)


def _root(array: Array) -> Array:
    """The array that owns the numbers."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
