"""Averages of the weights that a module of Lightning keeps, and that its validation never runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.averages_by_hand import mixes
from stethoscope.program.index import Class, Function, Index
from stethoscope.program.roles import Role, class_role
from stethoscope.program.syntax import all_nodes
from stethoscope.program.trace import hook_methods
from stethoscope.program.unused_averages import UPKEEP
from stethoscope.program.values import Site

AVERAGES = frozenset(
    {"AveragedModel", "EMA", "ModelEma", "ModelEmaV2", "ModelEmaV3", "ExponentialMovingAverage", "EMAModel"}
)
UPDATES = frozenset({"update", "update_parameters", "ema_update", "update_ema"})


@dataclass(frozen=True, slots=True, eq=False)
class UnmeasuredAverage:
    """Where the raw weights are validated, and where the average that nothing else uses is made."""

    measured: tuple[Site, ...]
    made: Site


def unmeasured_averages(index: Index) -> Iterator[UnmeasuredAverage]:
    """The averages of modules with a validation that only their upkeep speaks of."""
    for cls in index.classes:
        validation = cls.methods.get("validation_step")
        if validation is None or not any(True for _ in hook_methods(index, cls)):
            continue
        for name, made in _averages(index, cls):
            mentions = [m for method in cls.methods.values() for m in _mentions(method, name)]
            kept = [m.is_update for m in mentions]
            if any(kept) and all(m.is_upkeep for m in mentions) and not _is_asked_for(index, cls, name):
                yield UnmeasuredAverage(tuple(_runs(validation)), made)


def _averages(index: Index, cls: Class) -> Iterator[tuple[str, Site]]:
    init = cls.methods.get("__init__")
    if init is None:
        return
    for node in all_nodes(init.node):
        match node:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=ast.Call() as value
            ) if _makes_average(index, value):
                yield name, Site(init.source, node)


def _makes_average(index: Index, value: ast.Call) -> bool:
    named = {_called(node) for node in all_nodes(value) if isinstance(node, ast.Call)}
    if named & {*AVERAGES, "deepcopy"}:
        return True
    known = (cls for cls in index.classes if cls.name in named)
    return any(class_role(index, cls) is Role.AVERAGE for cls in known)


@dataclass(frozen=True, slots=True)
class _Mention:
    is_upkeep: bool
    is_update: bool


def _mentions(method: Function, name: str) -> Iterator[_Mention]:
    """Each place in a method that speaks of an attribute, and whether that is for its upkeep."""
    mixed = {
        id(inner)
        for loop in all_nodes(method.node)
        if isinstance(loop, ast.For) and mixes(loop)
        for inner in all_nodes(loop)
    }
    asked = {
        id(node.func.value): node.func.attr
        for node in all_nodes(method.node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    for node in all_nodes(method.node):
        if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.value, ast.Name):
            called = asked.get(id(node), "")
            is_update = id(node) in mixed or called in UPDATES
            is_upkeep = is_update or called in UPKEEP or isinstance(node.ctx, ast.Store)
            yield _Mention(is_upkeep or method.name == "__init__", is_update)


def _is_asked_for(index: Index, cls: Class, name: str) -> bool:
    """Whether anything outside the class, or a text inside it, speaks of the attribute."""
    own = {id(node) for method in cls.methods.values() for node in all_nodes(method.node)}
    for module in index.modules.values():
        if name not in module.source.text:
            continue
        for node in all_nodes(module.source.tree):
            if isinstance(node, ast.Attribute) and node.attr == name and id(node) not in own:
                return True
            if isinstance(node, ast.Constant) and node.value == name:
                return True
    return False


def _runs(validation: Function) -> Iterator[Site]:
    """Where a validation runs the module or a part of it."""
    for node in all_nodes(validation.node):
        match node:
            case ast.Call(func=ast.Name(id="self")):
                yield Site(validation.source, node)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) if "log" not in name:
                yield Site(validation.source, node)


def _called(node: ast.Call) -> str:
    return str(getattr(node.func, "attr", None) or getattr(node.func, "id", ""))
