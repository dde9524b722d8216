"""Numbers that the run may set: settings, options and defaults, by the name they are read under."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stethoscope.program.index import Function, Index
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.declared_options import declared_options
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.values import Choice, Constant, Leaf, Part, Value, inputs

MOST_VISITED = 400
# What data go by in a function: an option of that name elsewhere is another thing, such as a batch's size.
DATA = frozenset({
    "batch", "data", "x", "y", "input", "inputs", "target", "targets", "samples", "images", "labels",
})  # fmt: skip


def number(value: Value) -> float | None:
    """The number that is written out."""
    known = value.value if isinstance(value, Constant) else None
    return float(known) if isinstance(known, int | float) and not isinstance(known, bool) else None


def declared_numbers(
    index: Index, settings: SettingsTree, operands: Sequence[Value]
) -> dict[Value, tuple[str, float]]:
    """Operands that are settings, with the number that is declared for them."""
    found = {operand: _named(index, settings, operand) for operand in operands}
    return {operand: named for operand, named in found.items() if named is not None}


def chosen_numbers(index: Index, settings: SettingsTree, value: Value) -> frozenset[int]:
    """The ids of what is one number or another inside a value, and the settings say which.

    `Config(**json.load(file)) if path else Config()` makes each of its fields so.
    """
    found: set[int] = set()
    seen: set[int] = set()
    waiting = [value]
    while waiting and len(seen) < MOST_VISITED:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, Choice) and _named(index, settings, current) is not None:
            found.add(id(current))
        else:
            waiting.extend(inputs(current))
    return frozenset(found)


def _named(index: Index, settings: SettingsTree, value: Value) -> tuple[str, float] | None:
    """The name and the number of a setting."""
    if isinstance(value, Choice):
        return _chosen(index, settings, value)
    name = value.key if isinstance(value, Part) else value.name if isinstance(value, Leaf) else None
    if not isinstance(name, str) or not name.isidentifier() or (isinstance(value, Leaf) and name in DATA):
        return None
    known = _declared(index, settings, name)
    return (name, known) if known is not None else None


def _chosen(index: Index, settings: SettingsTree, choice: Choice) -> tuple[str, float] | None:
    """A setting that may be left out: what is written for it goes before its defaults."""
    written = [one for one in choice.options if isinstance(one, Constant) and one.setting]
    if len(written) == 1 and all(number(option) is not None for option in choice.options):
        known = number(written[0])
        return (written[0].setting.rpartition(".")[2], known) if known is not None else None
    read = [option for option in choice.options if number(option) is None]
    if not read or not all(isinstance(option, Part | Leaf) for option in read):
        return None
    named = {_named(index, settings, option) for option in read}
    return named.pop() if len(named) == 1 else None


def _declared(index: Index, settings: SettingsTree, name: str) -> float | None:
    """The one number that the settings give a name, else the options of the program, else its functions."""
    options = (option.default for option in declared_options(index) if option.name.replace("-", "_") == name)
    for values in (settings.values_named(name), options):
        given = {number(Constant(value)) for value in values if value is not None}
        if given:
            return given.pop() if len(given) == 1 else None
    return _defaults(index).get(name)


@remembered
def _defaults(index: Index) -> dict[str, float]:
    """The parameters that have one number as their default wherever they are declared."""
    found: dict[str, set[float | None]] = {}
    for function in index.functions:
        for name, default in _parameters_with_default(function):
            known = number(Constant(default.value)) if isinstance(default, ast.Constant) else None
            found.setdefault(name, set()).add(known)
    single = {name: next(iter(numbers)) for name, numbers in found.items() if len(numbers) == 1}
    return {name: known for name, known in single.items() if known is not None}


def _parameters_with_default(function: Function) -> Iterator[tuple[str, ast.expr]]:
    spec = function.node.args
    positional = [*spec.posonlyargs, *spec.args]
    pairs = zip(reversed(positional), reversed(spec.defaults), strict=False)
    yield from ((arg.arg, default) for arg, default in pairs)
    named = zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
    yield from ((arg.arg, default) for arg, default in named if default is not None)
