"""Warm-ups that are told a fraction of the run where a number of steps is asked for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Index, dotted
from stethoscope.program.settings.mentions import Mentions, Spot, mentions, text_of
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.entries import is_test

# Those of transformers and diffusers: the warm-up stands behind the optimizer, or behind a name and it.
SCHEDULES = re.compile(r"^get_(?:\w+_)?schedule(?:r|_with_\w*warmup)$")
WARM_UP, TOTAL = "num_warmup_steps", "num_training_steps"
HOPS = 3  # variables between a number and the call that is told it


@dataclass(frozen=True, slots=True, eq=False)
class FractionForSteps:
    """A call that is told a fraction, the expression for it, its number, and that of all steps, if told."""

    call: Spot
    told: ast.expr
    fraction: float
    total: ast.expr | None


def fractions_for_steps(index: Index, settings: SettingsTree) -> Iterator[FractionForSteps]:
    """Every warm-up of less than one step."""
    code = mentions(index)
    for name, spots in code.calls.items():
        if not SCHEDULES.match(name):
            continue
        for spot in spots:
            node = spot.node
            if not isinstance(node, ast.Call) or is_test(spot.source):
                continue
            place = 2 if name == "get_scheduler" else 1
            told = _argument(node, WARM_UP, place)
            number = number_told(told, code, settings, HOPS) if told is not None else None
            if told is not None and number is not None and 0 < number < 1:
                yield FractionForSteps(spot, told, number, _argument(node, TOTAL, place + 1))


def _argument(call: ast.Call, name: str, place: int) -> ast.expr | None:
    named = next((word.value for word in call.keywords if word.arg == name), None)
    return named if named is not None else call.args[place] if len(call.args) > place else None


def number_told(node: ast.expr, code: Mentions, settings: SettingsTree, hops: int) -> float | None:
    """The number that an expression is: written out, of a setting, or of the one value of a variable."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return float(number)
        case ast.Attribute(attr=name):
            return _setting(name, settings)
        case ast.Subscript(slice=key) | ast.Call(func=ast.Attribute(attr="get"), args=[key, *_]):
            name = text_of(key) or ""
            return _setting(name, settings) if name else None
        case ast.Name(id=name) if hops and len(code.given.get(name, ())) == 1 and name not in code.changed:
            return number_told(code.given[name][0].node, code, settings, hops - 1)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            first, second = (number_told(one, code, settings, hops) for one in (left, right))
            return first * second if first is not None and second is not None else None
    return None


def _setting(name: str, settings: SettingsTree) -> float | None:
    values = {value for value in settings.values_named(name) if isinstance(value, int | float)}
    values = {value for value in values if not isinstance(value, bool)}
    return float(values.pop()) if len(values) == 1 else None


def spoken(node: ast.expr) -> str:
    """An expression as one line."""
    return " ".join((dotted(node) or ast.unparse(node)).split())
