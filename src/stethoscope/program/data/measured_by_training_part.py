"""Evaluations that are given the part of the data that training has: by a hook, or by a mask.

def val_dataloader(self): return self.loader(self.train_set)        the hook of a framework
def validate(): ... (answers == y)[data.train_mask]                 the nodes of a graph
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from stethoscope.program.data.leaks import HELD_OUT, TRAINING, Leak
from stethoscope.program.index import Class, Function, Index, Module
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test

HELD_OUT_HOOKS = ("val_dataloader", "test_dataloader", "get_eval_dataloader")
# What takes parts of a data set by their places: the rest may be what is held out.
TAKING_PARTS = ("Subset", "sampler", "indices", "fold", "overfit", "sanity", "debug")
PART_WORDS = frozenset({"mask", "masks", "idx", "index", "indices", "split", "part", "nodes"})
MASKS = frozenset({"train_mask", "train_idx"})
SCORING = frozenset(
    {"acc", "accuracy", "evaluate", "eval", "test", "score", "loss", "f1", "metric", "auc", "entropy"}
)
NAMES_OF_EVALUATION = frozenset({"val", "valid", "validate", "validation", "test", "eval", "evaluate", "dev"})


def measured_by_training_part(index: Index) -> Iterator[Leak]:
    """Every hook and every mask that hands the training part to an evaluation."""
    for cls in index.classes:
        if not is_test(cls.source):
            yield from _by_hook(cls)
    for module in index.modules.values():
        if "train_mask" in module.source.text and not is_test(module.source):
            yield from _by_label(module)
    masked = [function for function in index.functions if _names(function) & {"train_mask", "train_idx"}]
    for function in masked:
        if not is_test(function.source):
            yield from _by_mask(index, function)


def _by_hook(cls: Class) -> Iterator[Leak]:
    trains = cls.methods.get("train_dataloader")
    if trains is None:
        return
    trained = _training_attributes(trains)
    for name in HELD_OUT_HOOKS:
        hook = cls.methods.get(name)
        if hook is None or any(word in ast.unparse(hook.node) for word in TAKING_PARTS):
            continue
        loaded = _training_attributes(hook)
        others = _own_attributes(hook) - loaded.keys()
        if any(HELD_OUT.intersection(words(one)) for one in others):
            continue
        for attribute, node in loaded.items():
            if attribute in trained or attribute == "train_dataloader":
                held = f"`{name}` hands out `self.{attribute}`, which training goes through"
                yield Leak(cls.source, node, trained.get(attribute, trains.node), held)
                break


def _training_attributes(method: Function) -> dict[str, ast.AST]:
    """The attributes of an object that are called training data, by where a method reads them."""
    found: dict[str, ast.AST] = {}
    for node in own_nodes(method.node, ast.Attribute):
        spoken = set(words(node.attr))
        is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
        if is_own and spoken & TRAINING and not spoken & HELD_OUT and _is_data(node.attr):
            found.setdefault(node.attr, node)
    return found


def _is_data(name: str) -> bool:
    """Whether a name is of the data themselves, and not of a size or a switch beside them."""
    beside = {"batch", "size", "bs", "workers", "transform", "transforms", "tf", "aug", "shuffle", "frac"}
    beside |= {"args", "kwargs", "cfg", "config", "sampler", "collate", "fn", "path", "dir", "root"}
    return not beside.intersection(words(name))


def _own_attributes(method: Function) -> set[str]:
    nodes = own_nodes(method.node, ast.Attribute)
    return {node.attr for node in nodes if isinstance(node.value, ast.Name) and node.value.id == "self"}


def _by_mask(index: Index, function: Function) -> Iterator[Leak]:
    """A function that measures held-out nodes by its name, and picks those of training alone."""
    spoken = set(words(function.name))
    if not spoken & NAMES_OF_EVALUATION or spoken & TRAINING or _is_told_a_part(function):
        return
    named = _names(function)
    parts = [name for name in named if PART_WORDS.intersection(words(name))]
    if any(HELD_OUT.intersection(words(name)) for name in parts):
        return
    learned = next(
        (one for other in index.functions if other is not function for one in _learned(other)), None
    )
    for node in own_nodes(function.node, ast.Attribute, ast.Name):
        if _last(node) in {"train_mask", "train_idx"} and learned is not None:
            why = (
                f"`{function.name}` measures `{ast.unparse(node)}`, the samples that the loss is learned from"
            )
            yield Leak(function.source, node, learned, why)
            return


def _by_label(module: Module) -> Iterator[Leak]:
    """`("val", data.train_mask)`, `{"val": acc(train_mask)}`, `scores["val"] = acc(train_mask)`."""
    learned = next(
        (one for one in all_nodes(module.source.tree, ast.Attribute, ast.Name) if _last(one) in MASKS), None
    )
    for node in all_nodes(module.source.tree, ast.Tuple, ast.List, ast.Dict, ast.Assign):
        pairs: list[tuple[ast.expr | None, ast.expr]] = []
        match node:
            case ast.Tuple(elts=[said, held]) | ast.List(elts=[said, held]):
                pairs = [(said, held)]
            case ast.Dict(keys=keys, values=values):
                pairs = list(zip(keys, values, strict=True))
            case ast.Assign(targets=[ast.Subscript(slice=key)], value=held):
                pairs = [(key, held)]
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as name], value=held):
                pairs = [(name, held)]
        for called, part in pairs:
            if learned is not None and _is_called_held_out(called) and _is_of_training_nodes(part):
                said_so, measured = ast.unparse(called), ast.unparse(part)
                why = f"`{said_so}` is measured on the samples that are trained on: `{measured}`"
                yield Leak(module.source, part, learned, why)
                return


def _is_called_held_out(said: ast.expr | None) -> TypeGuard[ast.expr]:
    name = str(said.value) if isinstance(said, ast.Constant) else _last(said) if said is not None else ""
    spoken = set(words(name))
    return bool(spoken & HELD_OUT) and not spoken & (TRAINING | PART_WORDS)


def _is_of_training_nodes(held: ast.expr) -> bool:
    """Whether nothing but the mask of training parts off what is measured."""
    if any(
        isinstance(one, ast.Constant) and HELD_OUT & set(words(str(one.value))) for one in all_nodes(held)
    ):
        return False
    spoken = {_last(one) for one in all_nodes(held, ast.Attribute, ast.Name)}
    parts = {one for one in spoken if PART_WORDS & set(words(one)) and HELD_OUT & set(words(one))}
    if parts or not spoken & MASKS:
        return False
    if _last(held) in MASKS:
        return True
    picked = [one.slice for one in all_nodes(held, ast.Subscript)]
    scored = [one for one in all_nodes(held, ast.Call) if SCORING & set(words(bare_name(one)))]
    return any(_last(one) in MASKS for one in (*picked, *(given for call in scored for given in call.args)))


def _learned(function: Function) -> Iterator[ast.AST]:
    """The training part in a function that has a backward pass."""
    calls = own_nodes(function.node, ast.Call)
    if any(isinstance(one.func, ast.Attribute) and one.func.attr == "backward" for one in calls):
        nodes = own_nodes(function.node, ast.Attribute, ast.Name)
        yield from (one for one in nodes if _last(one) in {"train_mask", "train_idx"})


def _is_told_a_part(function: Function) -> bool:
    return any(PART_WORDS.intersection(words(one)) for one in function.parameters)


def _names(function: Function) -> set[str]:
    return {_last(node) for node in own_nodes(function.node, ast.Attribute, ast.Name)}


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
