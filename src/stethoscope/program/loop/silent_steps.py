"""Steps of Lightning modules that compute a loss and give nothing back, so that nothing is minimised."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site


@dataclass(frozen=True, slots=True, eq=False)
class SilentStep:
    """The step, and where it computes what it should give back."""

    step: Function
    loss: Site


def silent_steps(index: Index) -> Iterator[SilentStep]:
    """Every `training_step` without an answer, in modules that leave the optimizing to Lightning."""
    for cls in index.classes:
        step = cls.methods.get("training_step")
        if step is None or is_test(cls.source) or not _is_module(index, cls) or _is_by_hand(index, cls):
            continue
        loss = _loss(step)
        if loss is not None and not _answers(step):
            yield SilentStep(step, loss)


def _is_module(index: Index, cls: Class) -> bool:
    return any(base.rpartition(".")[2] == "LightningModule" for base in index.outside_bases(cls))


def _is_by_hand(index: Index, cls: Class) -> bool:
    """Whether the module, or one that is derived from it, may optimize by hand."""
    family = (*index.lineage(cls), *(one for one in index.classes if cls in index.lineage(one)))
    return any(
        "automatic_optimization" in ast.unparse(one.node) or "manual_backward" in ast.unparse(one.node)
        for one in family
    )


def _answers(step: Function) -> bool:
    """Whether a step gives something back, raises because it is only a form, or is a generator."""
    for node in own_nodes(step.node, ast.Return, ast.Yield, ast.YieldFrom, ast.Raise):
        if not isinstance(node, ast.Return):
            return True
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            return True
    return False


def _loss(step: Function) -> Site | None:
    """Where a step gives a name of a loss a value, or logs one."""
    for node in own_nodes(step.node, ast.Assign):
        names = {word for target in node.targets for word in words(ast.unparse(target))}
        if names & {"loss", "losses"} and any(True for _ in own_nodes(step.node, ast.Call)):
            return Site(step.source, node)
    for call in own_nodes(step.node, ast.Call):
        match call:
            case ast.Call(func=ast.Attribute(attr="log"), args=[ast.Constant(value=str() as name), *_]):
                if "loss" in name:
                    return Site(step.source, call)
    return None
