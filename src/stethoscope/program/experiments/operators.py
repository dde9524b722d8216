"""The operators of Python on numbers, tensors, lists and texts."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from stethoscope.program.experiments.running import LONGEST
from stethoscope.program.experiments.tensor_calls import product
from stethoscope.program.experiments.things import Invented, Spot
from stethoscope.program.walk.bounded_arrays import CannotCompute

if TYPE_CHECKING:
    from stethoscope.program.experiments.interpreter import Interpreter

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.MatMult: np.matmul,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
}  # fmt: skip


def binary(run: Interpreter, op: ast.operator, left: Any, right: Any, spot: Spot | None) -> Any:
    """`left op right`."""
    if isinstance(op, ast.MatMult):
        found = product(run, left, right, spot)
        run.consumption.computed((left, right), found)
        return found
    if isinstance(op, ast.Pow):
        return _power(run, left, right)
    if isinstance(left, list | tuple | str) or isinstance(right, list | tuple | str):
        return _joined(op, left, right)
    if not (_is_number(left) and _is_number(right)):
        if isinstance(left, dict) and isinstance(right, dict) and isinstance(op, ast.BitOr):
            return {**left, **right}
        raise CannotCompute("an operator on something unknown")
    function = _BINARY.get(type(op))
    if function is None:
        raise CannotCompute(type(op).__name__)
    if isinstance(op, ast.Sub) and getattr(getattr(left, "dtype", None), "kind", "") == "b":
        left = left.astype(np.int64)
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        run.watch.broadcast(left, right)
    if isinstance(op, ast.Mult):
        silenced = [other for one, other in ((left, right), (right, left)) if _is_off(one, other)]
        if silenced:
            run.watch.silenced()
        run.spared += silenced
    result = function(left, right)
    run.consumption.computed((left, right), result)
    if isinstance(left, Invented) or isinstance(right, Invented):
        result = Invented(result) if type(result) is int else result
    return run.check(result)


def _is_off(factor: Any, other: Any) -> bool:
    """Whether a switch that stands at zero silences a tensor; others may open it."""
    if not isinstance(other, np.ndarray) or np.size(factor) != 1:
        return False
    return not np.any(factor)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | complex | np.ndarray | np.generic)


def _power(run: Interpreter, left: Any, right: Any) -> Any:
    if not (_is_number(left) and _is_number(right)):
        raise CannotCompute("a power of no number")
    if isinstance(left, int) and isinstance(right, int) and (abs(right) > 64 or abs(left) > 1 << 32):
        raise CannotCompute("a large power")
    base = left
    left = left.astype(np.float64) if isinstance(left, np.ndarray) else left
    found = run.check(left**right)
    run.consumption.computed((base, right), found)
    return found


def _joined(op: ast.operator, left: Any, right: Any) -> Any:
    if isinstance(op, ast.Mod) and isinstance(left, str):
        return left
    if isinstance(op, ast.Mult):
        count = right if isinstance(right, int) else left
        if not isinstance(count, int) or count > LONGEST:
            raise CannotCompute("a long list")
    elif not isinstance(op, ast.Add):
        raise CannotCompute("an operator on a list")
    return left * right if isinstance(op, ast.Mult) else left + right


def unary(run: Interpreter, op: ast.unaryop, value: Any) -> Any:
    """`op value`."""
    if isinstance(op, ast.Not):
        return not run.truth(value)
    if isinstance(op, ast.Invert):
        if isinstance(value, np.ndarray):
            run.consumption.asked((value,), turned := ~value)
            return turned
        raise CannotCompute("~ of no tensor")
    if _is_number(value):
        return -value if isinstance(op, ast.USub) else value
    raise CannotCompute("a sign before something unknown")
