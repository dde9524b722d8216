"""Numbers that count, made in a type that cannot count so far."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes
from stethoscope.program.weights.numbers import number
from stethoscope.run import Program, Source, Where

# The first whole number that the type cannot hold is one more.
EXACT = {"bfloat16": 256, "half": 2048, "float16": 2048}


@dataclass(frozen=True, slots=True)
class HalfCount:
    """Where something is counted, in which type, and how far; None where the source does not say."""

    where: Where
    dtype: str
    until: float | None

    @property
    def exact(self) -> int:
        """The last number up to which the type holds all of them."""
        return EXACT[self.dtype]


@remembered
def half_counts(program: Program) -> tuple[HalfCount, ...]:
    """Every range that is made in half precision, or turned into it at once."""
    return tuple(one for source in program if "arange" in source.text for one in _of_source(source))


def _of_source(source: Source) -> Iterator[HalfCount]:
    for call in all_nodes(source.tree, ast.Call):
        made, dtype = _made(call)
        if made is not None and dtype in EXACT:
            yield HalfCount(source.where(call), dtype, _until(made))


def _made(call: ast.Call) -> tuple[ast.Call | None, str]:
    """`torch.arange(n, dtype=torch.bfloat16)`, `torch.arange(n).to(torch.bfloat16)` and `.half()`."""
    if _is_range(call):
        given = next((one.value for one in call.keywords if one.arg == "dtype"), None)
        return call, _type(given)
    if (
        isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Call)
        and _is_range(call.func.value)
    ):
        if call.func.attr in EXACT:
            return call.func.value, call.func.attr
        if call.func.attr == "to":
            types = [*call.args, *(one.value for one in call.keywords if one.arg == "dtype")]
            return call.func.value, next((name for one in types if (name := _type(one)) in EXACT), "")
    return None, ""


def _is_range(call: ast.Call) -> bool:
    return (dotted(call.func) or "").rpartition(".")[2] == "arange"


def _type(node: ast.expr | None) -> str:
    return (dotted(node) or "").rpartition(".")[2] if node is not None else ""


def _until(call: ast.Call) -> float | None:
    """The largest number of a range whose bounds are plain numbers."""
    bounds = [number(one) for one in call.args]
    if len(bounds) == 1:
        return bounds[0]
    return bounds[1] if len(bounds) > 1 else None
