"""What the methods of lists, dicts, sections of settings and known texts give, and change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stethoscope.program.walk.call_arguments import SPREAD, STARRED
from stethoscope.program.walk.given_back import UNCHANGED
from stethoscope.program.walk.values import NOTHING, Constant, Items, Leaf, Settings, Table, Value, is_nothing

if TYPE_CHECKING:
    from stethoscope.program.walk.execution import Execution


def container_method(
    run: Execution, receiver: Value, name: str, args: Sequence[Value], keywords: Mapping[str, Value]
) -> Value | None:
    """What a method of a list, a dict or a section of settings gives; None where that is not known."""
    match receiver:
        case Items(items=items):
            if name in {"append", "add"} and args:
                items.append(args[0])
                return NOTHING
            if name == "extend" and args:
                items.extend(run.elements(args[0]))
                return NOTHING
            if name == "index" and args:
                return _place(items, args[0])
            return receiver if name in UNCHANGED or name == "copy" else None
        case Table():
            return _table_method(run, receiver, name, args, keywords)
        case Settings(tree=tree):
            if name == "get" and args and isinstance(args[0], Constant):
                found = _setting(run, receiver, args[0].value)
                if not is_nothing(found) or len(args) < 2:
                    return found
                if isinstance(tree, dict):
                    run.defaulted[id(args[1])] = Defaulted(args[1], args[0].value, tuple(tree))
                return args[1]
            if name == "pop" and args and isinstance(args[0], Constant):
                return _setting(run, receiver, args[0].value)
            if name in {"items", "values"} and isinstance(tree, dict):
                values = [run.part(receiver, key) for key in tree]
                return Items(
                    values
                    if name == "values"
                    else [Items([Constant(k), v]) for k, v in zip(tree, values, strict=True)]
                )
            if name in {"copy", "keys"}:
                return receiver
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Defaulted:
    """A value that was given in place of one that is not there: what was asked for, and what there is."""

    value: Value
    asked: object
    there: tuple[object, ...]


def _place(items: Sequence[Value], wanted: Value) -> Value | None:
    """`NAMES.index("other")`, where all names before it are known."""
    if not isinstance(wanted, Constant):
        return None
    for place, item in enumerate(items):
        if not isinstance(item, Constant):
            return None
        if item.value == wanted.value:
            return Constant(place)
    return None


def _setting(run: Execution, section: Settings, key: object) -> Value:
    return run.part(section, key) if isinstance(key, str | int) else Leaf(str(key))


def _table_method(
    run: Execution, table: Table, name: str, args: Sequence[Value], keywords: Mapping[str, Value]
) -> Value | None:
    if name == "values":
        return Items([*table.entries.values(), *table.rest])
    if name == "items":
        known = [Items([Constant(key), value]) for key, value in table.entries.items()]
        return Items([*known, *(Items([Leaf("key"), value]) for value in table.rest)])
    if name in {"keys", "copy", *UNCHANGED}:
        return table
    if name in {"get", "pop", "setdefault"} and args:
        key = args[0].value if isinstance(args[0], Constant) else None
        if isinstance(args[0], Constant) and key not in table.entries and not table.rest and len(args) > 1:
            if name == "setdefault":
                run.write(table.entries, key, args[1])
            run.defaulted[id(args[1])] = Defaulted(args[1], key, tuple(table.entries))
            return args[1]
        return run.item(table, args[0])
    if name == "update":
        for source in (run.force(arg) for arg in args):
            if isinstance(source, Table):
                table.entries.update(source.entries)
                table.rest.extend(source.rest)
        spread_into(table, keywords)
        return NOTHING
    return None


def spread_into(table: Table, keywords: Mapping[str, Value]) -> None:
    """Put the keywords of a call into a table: `dict(a=1)`, `table.update(a=1)`."""
    table.entries.update({key: value for key, value in keywords.items() if key not in {SPREAD, STARRED}})
    table.rest.extend(value for key, value in keywords.items() if key == SPREAD)


def text_method(receiver: Constant, name: str, args: Sequence[Value]) -> Value | None:
    """Methods of known text: lower, replace, split and the like."""
    text = receiver.value
    known = [arg.value for arg in args if isinstance(arg, Constant)]
    if not isinstance(text, str) or len(known) != len(args):
        return None
    if name not in {
        "lower",
        "upper",
        "replace",
        "strip",
        "removesuffix",
        "removeprefix",
        "startswith",
        "endswith",
    }:
        return None
    try:
        return Constant(getattr(text, name)(*known))
    except (TypeError, ValueError):
        return None
