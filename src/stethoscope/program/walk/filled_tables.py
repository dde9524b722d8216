"""Functions and classes that a decorator by hand, or a statement of the module, puts into a table or list.

`TERMS = {}` is filled while the modules are read: `@term("tags")` runs `TERMS[name] = fn`, and
`TERMS["tags"] = tags_term` does it in place; `Term.__init_subclass__` puts every subclass into a table of its
class. Who reads the table later gets all of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stethoscope.program.index import Class, Function, Index, Module, Variable, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk import calls
from stethoscope.program.walk.frames import Frame
from stethoscope.program.walk.registries import definition
from stethoscope.program.walk.values import FunctionValue, Instance, Items, Site, Table, Value

if TYPE_CHECKING:
    from stethoscope.program.walk.execution import Execution

ADDING = frozenset({"append", "add"})
NAMING = ("__name__", "__qualname__")


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """An item of a table, or of a list, whose items have no key."""

    key: str | None
    item: Function | Class


@dataclass(frozen=True, slots=True, eq=False)
class Handed:
    """An item below a decorator that an object gives: `@LOSSES.add("dice")`."""

    item: Function | Class
    decorator: ast.expr


@dataclass(frozen=True, slots=True, eq=False)
class FilledTables:
    """The entries by the file and name of what they are put into, and those places by the item.

    `of_classes` are those of the tables of classes; `handed` goes to objects, by their file and name.
    """

    entries: Mapping[tuple[str, str], tuple[Entry, ...]]
    places: Mapping[ast.AST, tuple[str, ...]]
    of_classes: Mapping[tuple[Class, str], tuple[Entry, ...]]
    handed: Mapping[tuple[str, str], tuple[Handed, ...]]
    holders: Mapping[ast.AST, tuple[str, ...]]


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
    handed: dict[tuple[str, str], list[Handed]] = {}
    items: list[Function | Class] = [*index.functions, *index.classes]
    for item in items:
        home = index.module_of(item.source)
        for decorator in item.node.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else None
            name = dotted(call.func if call else decorator) or ""
            maker = index.resolve(home, name)
            if not isinstance(maker, Function):
                holder = maker or index.resolve(home, name.rpartition(".")[0])
                if isinstance(holder, Variable):
                    place = (holder.source.file, holder.name)
                    handed.setdefault(place, []).append(Handed(item, decorator))
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
        _of_classes(index),
        {place: tuple(found) for place, found in handed.items()},
        {one.item.node: (name,) for (_, name), found in handed.items() for one in found},
    )


def fill(run: Execution, table: Value, file: str, name: str) -> None:
    """Put into a table, or list, of a module what the reading of all modules puts there."""
    known = filled_tables(run.index)
    for entry in known.entries.get((file, name), ()):
        _put(table, entry)
    for one in known.handed.get((file, name), ()) if isinstance(table, Instance) else ():
        _hand(run, one, Frame(run.index.module_of(one.item.source), {}))


def fill_of_class(run: Execution, table: Value, cls: Class, name: str) -> None:
    """The same for a table that is a variable of a class."""
    for entry in filled_tables(run.index).of_classes.get((cls, name), ()):
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
    if isinstance(node, ast.ClassDef) or not run.tracing:  # a trace follows the decorators of functions
        for name in known.holders.get(node, ()):
            for one in known.handed.get((frame.module.source.file, name), ()) if name in frame.names else ():
                if one.item.node is node:
                    _hand(run, one, frame)


def _hand(run: Execution, one: Handed, frame: Frame) -> None:
    """Follow what an object does with what stands below its decorator; a trace does not hear of it."""
    mark, scope = len(run.events), run.scope
    site = Site(frame.module.source, one.decorator)
    decorator = run.force(run.evaluate(one.decorator, frame))
    run.force(calls.call_value(run, decorator, (definition(one.item),), {}, site))
    del run.events[mark:]
    run.scope = scope


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


def _of_classes(index: Index) -> dict[tuple[Class, str], tuple[Entry, ...]]:
    """What `__init_subclass__` puts into the tables of its class: every subclass."""
    found: dict[tuple[Class, str], tuple[Entry, ...]] = {}
    for base in index.classes:
        method = base.methods.get("__init_subclass__")
        filled = map(_filled_by, all_nodes(method.node)) if method is not None else ()
        for table, key, stored in filter(None, filled):
            first = next(iter(method.parameters), "") if method is not None else ""
            if stored != first or not isinstance(table, ast.Attribute) or table.attr not in base.variables:
                continue
            heirs = (cls for cls in index.classes if cls is not base and base in index.lineage(cls))
            entries = (Entry(_key_of_heir(index, key, first, heir), heir) for heir in heirs)
            found[base, table.attr] = tuple(entries)
    return found


def _key_of_heir(index: Index, key: ast.expr | None, first: str, heir: Class) -> str | None:
    """The key of a subclass: a keyword of its definition, a variable of its body, or its name."""
    for candidate in key.values if isinstance(key, ast.BoolOp) else [key]:
        value: ast.expr | None = None
        match candidate:
            case ast.Attribute(attr=attr) if attr in NAMING:
                return heir.name
            case ast.Attribute(value=ast.Name(id=holder), attr=attr) if holder == first:
                value = next(
                    (cls.variables[attr] for cls in index.lineage(heir) if attr in cls.variables), None
                )
            case ast.Name(id=name):
                value = next((keyword.value for keyword in heir.node.keywords if keyword.arg == name), None)
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return value.value
    return None
