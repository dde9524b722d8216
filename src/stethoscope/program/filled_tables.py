"""Functions and classes that a decorator by hand, or a statement of the module, puts into a table or list.

`TERMS = {}` is filled while the modules are read: `@term("tags")` runs `TERMS[name] = fn`, and
`TERMS["tags"] = tags_term` does it in place. Who reads the table later gets all of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stethoscope.program.index import Class, Function, Index, Module, Variable, dotted
from stethoscope.program.registries import definition
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes
from stethoscope.program.values import FunctionValue, Items, Table, Value

if TYPE_CHECKING:
    from stethoscope.program.execution import Execution
    from stethoscope.program.frames import Frame

ADDING = frozenset({"append", "add"})
NAMING = ("__name__", "__qualname__")


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """An item of a table, or of a list, whose items have no key."""

    key: str | None
    item: Function | Class


@dataclass(frozen=True, slots=True, eq=False)
class FilledTables:
    """The entries by the file and name of what they are put into, and those places by the item."""

    entries: Mapping[tuple[str, str], tuple[Entry, ...]]
    places: Mapping[ast.AST, tuple[str, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class _Filling:
    """What a decorator does with what it decorates: `table[key] = item`, or `table.append(item)`."""

    table: Variable
    key: ast.expr | None


@remembered
def filled_tables(index: Index) -> FilledTables:
    """Find what is put into the tables of modules while they are read."""
    entries: dict[tuple[str, str], list[Entry]] = {}
    places: dict[ast.AST, list[str]] = {}
    fillings: dict[Function, list[_Filling]] = {}
    items: list[Function | Class] = [*index.functions, *index.classes]
    for item in items:
        home = index.module_of(item.source)
        for decorator in item.node.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else None
            maker = index.resolve(home, dotted(call.func if call else decorator) or "")
            if not isinstance(maker, Function):
                continue
            if maker not in fillings:
                fillings[maker] = list(_fillings(index, maker))
            for filling in fillings[maker]:
                table = filling.table
                entry = Entry(_key(filling, maker, call, item), item)
                entries.setdefault((table.source.file, table.name), []).append(entry)
                places.setdefault(item.node, []).append(table.name)
    for module in index.modules.values():
        for name, entry in _stored(index, module):
            entries.setdefault((module.source.file, name), []).append(entry)
    return FilledTables(
        {place: tuple(found) for place, found in entries.items()},
        {node: tuple(names) for node, names in places.items()},
    )


def fill(run: Execution, table: Value, file: str, name: str) -> None:
    """Put into a table, or list, of a module what the reading of all modules puts there."""
    for entry in filled_tables(run.index).entries.get((file, name), ()):
        _put(table, entry)


def fill_with(run: Execution, node: ast.AST, frame: Frame) -> None:
    """The same for one definition, where the statements of a script are followed one by one."""
    if frame.function is not None:
        return
    known = filled_tables(run.index)
    for name in known.places.get(node, ()):
        table = frame.names.get(name)
        for entry in known.entries.get((frame.module.source.file, name), ()) if table is not None else ():
            if entry.item.node is node:
                _put(table, entry)


def _put(table: Value | None, entry: Entry) -> None:
    match table:
        case Table(entries=entries) if entry.key is not None:
            entries.setdefault(entry.key, definition(entry.item))
        case Table(rest=rest):
            rest.append(definition(entry.item))
        case Items(items=items):
            known = {one.function for one in items if isinstance(one, FunctionValue)}
            if entry.item not in known:  # a trace follows the decorator itself
                items.append(definition(entry.item))


def _fillings(index: Index, maker: Function) -> Iterator[_Filling]:
    """The tables of modules that a decorator puts its function into."""
    home = index.module_of(maker.source)
    nodes = all_nodes(maker.node)
    local = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)} | {
        node.arg for node in nodes if isinstance(node, ast.arg)
    }
    for node in nodes:
        found = _filled_by(node)
        if found is None:
            continue
        base, key, stored = found
        name = dotted(base)
        if name is None or stored not in local or name.partition(".")[0] in local:
            continue
        table = index.resolve(home, name)
        if isinstance(table, Variable):
            yield _Filling(table, key)


def _filled_by(node: ast.AST) -> tuple[ast.expr, ast.expr | None, str] | None:
    """The table, the key and the name of what is put there."""
    match node:
        case ast.Assign(targets=[ast.Subscript(value=base, slice=key)], value=ast.Name(id=stored)):
            return base, key, stored
        case ast.Call(func=ast.Attribute(value=base, attr=attr), args=[ast.Name(id=stored)]):
            return (base, None, stored) if attr in ADDING else None
    return None


def _key(filling: _Filling, maker: Function, call: ast.Call | None, item: Function | Class) -> str | None:
    """The key of one item: an argument of the decorator, or the item's own name."""
    candidates = filling.key.values if isinstance(filling.key, ast.BoolOp) else [filling.key]
    for candidate in candidates:
        match candidate:
            case ast.Constant(value=str() as known):
                return known
            case ast.Attribute(attr=attr) if attr in NAMING:
                return item.name
            case ast.Name(id=name):
                given = _argument(maker, call, name)
                if given is not None:
                    return given
    return None


def _argument(maker: Function, call: ast.Call | None, name: str) -> str | None:
    if call is None or name not in maker.parameters:
        return None
    position = maker.parameters.index(name)
    given: ast.expr | None = call.args[position] if position < len(call.args) else None
    given = next((keyword.value for keyword in call.keywords if keyword.arg == name), given)
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else None


def _stored(index: Index, module: Module) -> Iterator[tuple[str, Entry]]:
    """`TERMS["tags"] = tags_term` and `STAGES.append(Blur)` among the statements of a module."""
    for statement in module.source.tree.body:
        match statement:
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str() as key))],
                value=value,
            ):
                item = index.resolve(module, dotted(value) or "")
                if isinstance(item, Function | Class):
                    yield name, Entry(key, item)
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr), args=[value])
            ) if attr in ADDING:
                item = index.resolve(module, dotted(value) or "")
                if isinstance(item, Function | Class):
                    yield name, Entry(None, item)
