"""Operators on values: computed where both sides are known, remembered where not."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from stethoscope.program.walk.bounded_arrays import LARGEST, Array, TooLarge
from stethoscope.program.walk.tensor_operations import CannotCompute, checked
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    ClassValue,
    Constant,
    FunctionValue,
    Instance,
    Items,
    Settings,
    Site,
    Table,
    Value,
)

SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitOr: "|",
    ast.BitAnd: "&",
    ast.USub: "neg",
    ast.UAdd: "pos",
    ast.Not: "not",
    ast.Invert: "~",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
COMPUTED: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "@": operator.matmul,
    "&": operator.and_,
    "|": operator.or_,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
}
LARGEST_EXPONENT = 64
MOST_REPEATED = 64  # elements of a list that is repeated
LONGEST_TEXT = 1_000
NEVER_NONE = (Instance, Items, Table, Settings, FunctionValue, ClassValue, Applied)


def fold_binary(op: ast.operator, left: Value, right: Value, site: Site) -> Value:
    """`left op right`."""
    return combine(SYMBOLS.get(type(op), "?"), left, right, site)


def combine(symbol: str, left: Value, right: Value, site: Site) -> Value:
    """Two values under an operator."""
    if isinstance(left, Items) and isinstance(right, Items) and symbol == "+":
        return Items([*left.items, *right.items])
    if isinstance(left, Table) and isinstance(right, Table) and symbol == "|":
        return Table({**left.entries, **right.entries}, [*left.rest, *right.rest])
    if symbol == "*" and isinstance(left, Items) and isinstance(right, Constant):
        times = right.value
        if isinstance(times, int) and 0 <= len(left.items) * times <= MOST_REPEATED:
            return Items(left.items * times)
    if isinstance(left, Constant) and isinstance(right, Constant) and _small(symbol, left.value, right.value):
        computed = _compute(symbol, left.value, right.value)
        if computed is not None:
            return Constant(computed)
    return Applied(symbol, (left, right), {}, site)


def fold_unary(op: ast.unaryop, operand: Value, site: Site) -> Value:
    """`op operand`."""
    symbol = SYMBOLS[type(op)]
    if symbol == "not":
        known = truth(operand)
        return Applied("not", (operand,), {}, site) if known is None else Constant(not known)
    if isinstance(operand, Constant) and isinstance(operand.value, int | float | np.ndarray):
        if symbol in {"neg", "pos"}:
            return Constant(-operand.value if symbol == "neg" else operand.value)
        if isinstance(operand.value, np.ndarray) and operand.value.dtype == bool:
            return Constant(~operand.value)
    return Applied(symbol, (operand,), {}, site)


def fold_compare(op: ast.cmpop, left: Value, right: Value, site: Site) -> Value:
    """`left op right`, true, false or not known."""
    symbol = SYMBOLS[type(op)]
    against_none = symbol in {"is", "is not"} and isinstance(right, Constant) and right.value is None
    if against_none and isinstance(left, NEVER_NONE):
        return Constant(symbol == "is not")
    if symbol in {"in", "not in"} and isinstance(left, Constant):
        return _membership(symbol, left, right, site)
    if isinstance(left, Constant) and isinstance(right, Constant):
        computed = _compute(symbol, left.value, right.value)
        if computed is not None:
            return Constant(computed if isinstance(computed, np.ndarray) else bool(computed))
    return Applied(symbol, (left, right), {}, site)


def truth(value: Value) -> bool | None:
    """Whether a value counts as true; None where that is not known."""
    match value:
        case Constant(value=np.ndarray() as array):
            return bool(array) if array.size == 1 else None
        case Constant(value=known):
            return bool(known)
        case Instance() | FunctionValue() | ClassValue():
            return True
        case Items(items=items):
            return True if items else None
        case Table(entries=entries, rest=rest):
            return True if entries or rest else None
        case Choice(options=options):
            known_options = {truth(option) for option in options}
            return known_options.pop() if len(known_options) == 1 else None
    return None


def _membership(symbol: str, left: Constant, right: Value, site: Site) -> Value:
    members: list[object] | None = None
    if isinstance(right, Table) and not right.rest:
        members = list(right.entries)
    elif isinstance(right, Items) and all(isinstance(item, Constant) for item in right.items):
        members = [item.value for item in right.items if isinstance(item, Constant)]
    elif isinstance(right, Settings) and isinstance(right.tree, dict):
        members = list(right.tree)
    elif isinstance(right, Constant) and isinstance(right.value, str) and isinstance(left.value, str):
        return Constant((left.value in right.value) == (symbol == "in"))
    if members is None:
        return Applied(symbol, (left, right), {}, site)
    return Constant((left.value in members) == (symbol == "in"))


def _compute(symbol: str, left: object, right: object) -> object:
    function = COMPUTED.get(symbol)
    if function is None:
        return None
    try:
        with np.errstate(all="ignore"):
            if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
                _fits(symbol, left, right)
            result: object = checked(function(left, right))
    except (TypeError, ValueError, ArithmeticError, CannotCompute):
        return None
    return result


def _fits(symbol: str, left: Array, right: Array) -> None:
    """Refuse a table of all against all before it is made: its sides may be small enough."""
    is_table = symbol == "@" and left.ndim == right.ndim == 2
    size = left.shape[0] * right.shape[1] if is_table else 0
    if size > LARGEST or (symbol != "@" and np.broadcast(left, right).size > LARGEST):
        raise TooLarge("the array is too large")


def _small(symbol: str, left: object, right: object) -> bool:
    """Whether computing it is cheap whatever a stranger wrote."""
    if isinstance(left, str) or isinstance(right, str):
        return (
            symbol == "+"
            and isinstance(left, str)
            and isinstance(right, str)
            and len(left + right) < LONGEST_TEXT
        )
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return isinstance(left, int | float | np.ndarray) and isinstance(right, int | float | np.ndarray)
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    return numbers and not (symbol == "**" and abs(right) > LARGEST_EXPONENT)  # type: ignore[arg-type]
