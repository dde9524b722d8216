"""Entries that a resume asks of a checkpoint and that no save of the program writes.

`model.load_state_dict(checkpoint.get("state_dict", {}), strict=False)` loads nothing from a checkpoint that
keeps its weights under "model", and returns as if all were well. So does a load of the whole checkpoint.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Function, Index
from stethoscope.program.syntax import all_nodes, bodies, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source


@dataclass(frozen=True, slots=True, eq=False)
class MissingEntry:
    """A lenient load of an entry that is not there, and a save with the entries that are.

    `key` is empty where the whole checkpoint is taken for the weights.
    """

    source: Source
    load: ast.Call
    key: str
    saved: tuple[Source, ast.Dict]
    keys: tuple[str, ...]


def missing_entries(index: Index) -> Iterator[MissingEntry]:
    """The lenient loads whose entry no save of the program writes, where all of them can be read."""
    sources = [module.source for module in index.modules.values() if not is_test(module.source)]
    saved = [(source, written) for source in sources for written in _saved(source)]
    known = {key: (source, written) for source, written in saved for key in _keys(written)}
    if not known or any(None in written.keys for _, written in saved):
        return
    for source in sources:
        for node in all_nodes(source.tree, ast.Call):
            key = _asked_leniently(node)
            if key and key not in known:
                yield MissingEntry(source, node, key, saved[0], tuple(known))
    for function in index.bodies:
        for node in () if is_test(function.source) else _taken_whole(function, set(known)):
            yield MissingEntry(function.source, node, "", saved[0], tuple(known))


def _saved(source: Source) -> Iterator[ast.Dict]:
    """The dictionaries that are written to files, as they stand or by a name, with weights in them."""
    for body in bodies(source.tree):
        nodes = [node for statement in body for node in all_nodes(statement)]
        named = {
            target.id: node.value
            for node in nodes
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in nodes:
            if not isinstance(node, ast.Call) or bare_name(node) != "save" or not node.args:
                continue
            given = node.args[0]
            written = named.get(given.id) if isinstance(given, ast.Name) else given
            if isinstance(written, ast.Dict) and "state_dict" in ast.unparse(written):
                yield written


def _keys(written: ast.Dict) -> Iterator[str]:
    for key in written.keys:
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value


def _taken_whole(function: Function, known: set[str]) -> Iterator[ast.Call]:
    """`model.load_state_dict(checkpoint, strict=False)` beside `checkpoint["optimizer"]`.

    The entries that are read of it tell that it is no file of bare weights.
    """
    nodes = own_nodes(function.node)
    opened = {name for node in nodes for name in _entry_read(node, known)}
    for node in nodes:
        match node:
            case ast.Call(func=ast.Attribute(attr="load_state_dict"), args=[ast.Name(id=name), *_]):
                if name in opened and _is_lenient(node) and not _is_narrowed(nodes, name):
                    yield node


def _entry_read(node: ast.AST, known: set[str]) -> Iterator[str]:
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str() as key)) if key in known:
            yield name


def _is_narrowed(nodes: Sequence[ast.AST], name: str) -> bool:
    """Whether a name is given anything but a file: `checkpoint = checkpoint["model"]`, or entry by entry."""
    return any(
        isinstance(node, ast.Assign)
        and any(isinstance(one, ast.Name) and one.id == name for t in node.targets for one in all_nodes(t))
        and not (isinstance(node.value, ast.Call) and bare_name(node.value) == "load")
        for node in nodes
    )


def _is_lenient(call: ast.Call) -> bool:
    return any(
        word.arg == "strict" and isinstance(word.value, ast.Constant) and word.value.value is False
        for word in call.keywords
    )


def _asked_leniently(call: ast.Call) -> str:
    """The key of `load_state_dict(checkpoint.get(key, {}), strict=False)`."""
    match call:
        case ast.Call(
            func=ast.Attribute(attr="load_state_dict"),
            args=[
                ast.Call(
                    func=ast.Attribute(attr="get"),
                    args=[ast.Constant(value=str() as key), ast.Dict(keys=[])],
                ),
                *_,
            ],
        ) if _is_lenient(call):
            return key
    return ""
