"""The names of a call that is followed, how it is left, and what its parameters are given."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stethoscope.program.data.rows.tables import table
from stethoscope.program.index import Module


class Spent(Exception):
    """A body asks for more than can be followed."""


class Left(Exception):
    """A function gives something back."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


@dataclass(slots=True, eq=False)
class Frame:
    """The names of one call."""

    module: Module
    names: dict[str, Any]
    nodes: dict[str, ast.AST] = field(default_factory=dict)
    around: Frame | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Inner:
    """A function that is made inside another one, with the names around it."""

    node: ast.FunctionDef | ast.Lambda
    around: Frame


def bound(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, args: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    """The parameters of a function with what they are given; one that is not given has its default."""
    names: dict[str, Any] = {}
    spec = node.args
    placed = [*spec.posonlyargs, *spec.args]
    firsts = [one.arg for one in placed[len(placed) - len(spec.defaults) :]]
    defaults = dict(zip(firsts, spec.defaults, strict=True))
    for place, parameter in enumerate((*placed, *spec.kwonlyargs)):
        if place < len(args) and parameter in placed:
            names[parameter.arg] = args[place]
        elif parameter.arg in named:
            names[parameter.arg] = named[parameter.arg]
        else:
            default = defaults.get(parameter.arg)
            number = default.value if isinstance(default, ast.Constant) else None
            is_number = type(number) in {int, float}
            names[parameter.arg] = number if is_number else table((node, parameter.arg))
    return names
