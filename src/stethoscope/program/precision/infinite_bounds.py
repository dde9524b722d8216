"""Bounds that are infinite: `float("inf")`, `math.inf`, and options whose default is that or nothing."""

from __future__ import annotations

import ast
import math

from stethoscope.program.index import Index, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.settings.stated_options import stated_option
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.values import Applied, Choice, Constant, Outside, Part, Value

NAMES = frozenset({"inf", "infty", "infinity"})


def is_infinite(index: Index, settings: SettingsTree, value: Value | None) -> bool:
    """Whether a value is infinite as the program stands."""
    match value:
        case Constant(value=float() as number):
            return math.isinf(number)
        case Constant(value=str() as text):
            return _spells_infinity(text)
        case Applied(callee="float", args=[Constant(value=str() as text)]):
            return _spells_infinity(text)
        case Outside(name=name):
            return name.rpartition(".")[2].lower() in NAMES
        case Part(key=str() as name):
            if settings.values_named(name):
                return is_infinite(index, settings, stated_option(index, settings, name))
            return name in _infinite_options(index)
        case Choice(options=options) | Applied(callee="or", args=options):
            infinite = [one for one in options if is_infinite(index, settings, one)]
            others = [one for one in options if one not in infinite]
            return bool(infinite) and all(_is_off(index, settings, one) for one in others)
    return False


def _is_off(index: Index, settings: SettingsTree, value: Value) -> bool:
    """Whether a bound is switched off as the program stands: `clip if clip > 0 else inf`, with 0."""
    if isinstance(value, Part) and isinstance(value.key, str):
        value = stated_option(index, settings, value.key) or value
    if not isinstance(value, Constant):
        return False
    number = value.value
    return number is None or (isinstance(number, int | float) and number <= 0)


def is_written_infinite(node: ast.expr | None) -> bool:
    """Whether an expression spells infinity."""
    match node:
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str() as text)]):
            return _spells_infinity(text)
        case ast.Constant(value=str() as text):
            return _spells_infinity(text)
        case ast.Constant(value=float() as number):
            return math.isinf(number)
        case ast.Attribute() | ast.Name():
            return (dotted(node) or "").rpartition(".")[2].lower() in NAMES
    return False


def _spells_infinity(text: str) -> bool:
    return text.strip().lower().lstrip("+.") in NAMES


@remembered
def _infinite_options(index: Index) -> frozenset[str]:
    """The options that have an infinite default and no other: flags of parsers and fields of records."""
    infinite: set[str] = set()
    others: set[str] = set()
    for source in index.program:
        if "inf" not in source.text.lower():
            continue
        for node in all_nodes(source.tree):
            match node:
                case ast.Call(func=ast.Attribute(attr="add_argument"), args=args, keywords=keywords):
                    texts = [one.value for one in args if isinstance(one, ast.Constant)]
                    name = next((str(text) for text in texts if str(text).startswith("--")), "")
                    default = next((word.value for word in keywords if word.arg == "default"), None)
                    known = infinite if is_written_infinite(default) else others
                    known.add(name.lstrip("-").replace("-", "_"))
                case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
                    (infinite if is_written_infinite(value) else others).add(name)
    return frozenset(infinite - others)
