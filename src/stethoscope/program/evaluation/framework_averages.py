"""Averages of the weights that a module or callback of Lightning keeps, and that no validation runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.evaluation.averages_by_hand import WEIGHTS, mixes
from stethoscope.program.evaluation.unused_averages import UPKEEP
from stethoscope.program.index import Class, Function, Index
from stethoscope.program.loop.roles import Role, class_role
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.trace import hook_methods
from stethoscope.program.walk.values import Site

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
    """The averages of modules with a validation, and of callbacks beside one, that only their upkeep speaks
    of."""
    validated = [
        cls for cls in index.classes if "validation_step" in cls.methods and any(hook_methods(index, cls))
    ]
    for cls in validated:
        for made in _unused(index, cls):
            yield UnmeasuredAverage(tuple(_runs(cls.methods["validation_step"])), made)
    for cls in index.classes if validated else ():
        if any(base.endswith("Callback") for base in index.outside_bases(cls)) and _is_made(index, cls):
            for made in _unused(index, cls):
                yield UnmeasuredAverage(tuple(_runs(validated[0].methods["validation_step"])), made)


def _unused(index: Index, cls: Class) -> Iterator[Site]:
    """Where a class makes an average that it updates, and that nothing else speaks of."""
    for name, made in _averages(index, cls):
        mentions = [m for method in cls.methods.values() for m in _mentions(method, name)]
        is_kept = any(m.is_update for m in mentions)
        if is_kept and all(m.is_upkeep for m in mentions) and not _is_asked_for(index, cls, name):
            yield made


def _is_made(index: Index, cls: Class) -> bool:
    """Whether an object of a class is made somewhere outside tests."""
    for module in index.modules.values():
        if f"{cls.name}(" in module.source.text and not is_test(module.source):
            calls = (node for node in all_nodes(module.source.tree, ast.Call))
            if any(_called(node) == cls.name for node in calls):
                return True
    return False


def _averages(index: Index, cls: Class) -> Iterator[tuple[str, Site]]:
    for method in cls.methods.values():
        for node in all_nodes(method.node):
            match node:
                case ast.Assign(
                    targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=ast.Call() as value
                ) if _makes_average(index, value):
                    yield name, Site(method.source, node)


def _makes_average(index: Index, value: ast.Call) -> bool:
    named = {_called(node) for node in all_nodes(value, ast.Call)}
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
    loops = all_nodes(method.node, ast.For)
    mixed = {id(inner) for loop in loops if mixes(loop) for inner in all_nodes(loop)}
    frozen = {
        id(inner)
        for loop in loops
        if any("requires_grad" in ast.unparse(one) for one in loop.body)
        for inner in all_nodes(loop)
    }
    asked = {
        id(node.func.value): node.func.attr
        for node in all_nodes(method.node, ast.Call)
        if isinstance(node.func, ast.Attribute)
    }
    questions = {
        id(node.left)
        for node in all_nodes(method.node, ast.Compare)
        if isinstance(node.ops[0], ast.Is | ast.IsNot)
    }
    for node in all_nodes(method.node):
        if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.value, ast.Name):
            called = asked.get(id(node), "")
            is_update = id(node) in mixed or called in UPDATES
            # `new.data.copy_(kept)` for all of `self.ema.parameters()` puts the average to use.
            is_kept = called in UPKEEP and (called not in WEIGHTS or id(node) in frozen)
            is_upkeep = is_update or is_kept or isinstance(node.ctx, ast.Store) or id(node) in questions
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
