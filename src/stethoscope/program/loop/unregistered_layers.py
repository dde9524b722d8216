"""Layers that a network keeps in a plain list or dictionary, where torch does not see their parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class
from stethoscope.program.loop.parameter_owners import has_weights, is_inside
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Applied, Instance, Items, Table, Value
from stethoscope.run import Where

# What makes layers known to torch, or freezes them, by other ways than an attribute.
REGISTERING = frozenset(
    {"add_module", "register_module", "setattr", "ModuleList", "ModuleDict", "__setattr__", "_modules"}
    | {"register_parameter", "requires_grad_", "requires_grad", "no_grad", "parameters", "named_parameters"}
)


@dataclass(frozen=True, slots=True)
class Unregistered:
    """An attribute with layers in it: its name, the layers, where it is set and where it is run."""

    name: str
    layers: tuple[Value, ...]
    made: Where
    used: Where


def unregistered_layers(run: Execution, network: Value) -> Iterator[Unregistered]:
    """The lists and dictionaries of layers that a network runs and torch does not know of."""
    if not isinstance(network, Instance):
        return
    for name, value in list(network.attributes.items()):
        layers = tuple(one for one in _elements(value) if has_weights(run, one))
        if not layers or len(layers) < len(tuple(_elements(value))):
            continue
        others = [one for key, one in network.attributes.items() if key != name]
        if any(is_inside(run, layer, other) for layer in layers for other in others):
            continue
        places = _places(run, network.cls, name)
        if places is not None:
            yield Unregistered(name, layers, *places)


def _elements(value: Value) -> tuple[Value, ...]:
    match value:
        case Items(items=items):
            return tuple(items)
        case Table(entries=entries, rest=rest):
            return (*entries.values(), *rest)
        case Applied(callee="list" | "tuple", args=(inner, *_)):
            return _elements(inner)
    return ()


def _places(run: Execution, cls: Class, name: str) -> tuple[Where, Where] | None:
    """Where an attribute is set and where `forward` reads it; nothing where the class registers by hand."""
    made = used = None
    for ancestor in run.index.lineage(cls):
        for method, function in ancestor.methods.items():
            for node in all_nodes(function.node):
                if _named(node) in REGISTERING:
                    return None
                if not isinstance(node, ast.Attribute) or node.attr != name:
                    continue
                if isinstance(node.ctx, ast.Store):
                    made = made or function.source.where(node)
                elif method != "__init__":
                    used = used or function.source.where(node)
    return (made, used) if made is not None and used is not None else None


def _named(node: ast.AST) -> str:
    return str(getattr(node, "attr", None) or getattr(node, "id", ""))
