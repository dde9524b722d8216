"""Zeros, numbers below zero and nothing at all among values."""

from __future__ import annotations

from stethoscope.program.walk.values import Applied, Constant, Value


def is_below_zero(value: Value) -> bool:
    """A number below zero: no place in a vocabulary, and no class."""
    known = value.value if isinstance(value, Constant) else 0
    return isinstance(known, int) and known < 0


def is_nothing(value: Value) -> bool:
    """`None`."""
    return isinstance(value, Constant) and value.value is None


def is_zero(value: Value) -> bool:
    """The number zero."""
    return isinstance(value, Constant) and value.value == 0


def is_zeros(value: Value) -> bool:
    """`zeros(...)`, `zeros_like(...)`, `x.new_zeros(...)`."""
    return isinstance(value, Applied) and value.callee.rpartition(".")[2] in {
        "zeros",
        "zeros_like",
        "new_zeros",
    }
