"""The names that a handler of signals sets: each process is told by its own system, at its own time."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes

# Methods that leave a mark in their object.
MARKING = frozenset({"fill_", "set", "add_", "append", "copy_", "update", "put", "clear", "zero_"})


@remembered
def signalled_names(index: Index) -> frozenset[str]:
    """The names, and attributes, that handlers of signals change."""
    found: set[str] = set()
    for module in index.modules.values():
        if "signal" not in module.source.text:
            continue
        for node in all_nodes(module.source.tree):
            if (
                isinstance(node, ast.Call)
                and (dotted(node.func) or "") == "signal.signal"
                and len(node.args) > 1
            ):
                for handler in _handlers(index, node.args[1]):
                    found.update(_changed(handler))
    return frozenset(found)


def _handlers(index: Index, handler: ast.expr) -> Iterator[ast.AST]:
    if isinstance(handler, ast.Lambda):
        yield handler.body
        return
    for function in index.functions_named((dotted(handler) or "").rpartition(".")[2]):
        assert isinstance(function, Function)
        yield function.node


def _changed(handler: ast.AST) -> Iterator[str]:
    for node in all_nodes(handler):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                yield name
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr=attr)):
                if attr in MARKING:
                    yield name
            case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value=str() as name), *_]):
                yield name
