"""Inputs that are resized where a network is measured, and are not where it is trained."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from stethoscope.program.data.ingredients import ingredients
from stethoscope.program.data.sample_functions import sample_functions
from stethoscope.program.evaluation.evaluations import Walk, called_network
from stethoscope.program.evaluation.resizes import RESIZE_CALLS, is_resize
from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.moves import Kind, same_object
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.execution import STEPS, Exhausted
from stethoscope.program.walk.values import Applied, Constant, Items, Site, Value

TRAINING_FLAGS = frozenset({"train", "training", "augment", "augmentation", "aug", "random"})
TRAINING_SPLITS = frozenset({"train", "training"})
EVALUATION_SPLITS = frozenset({"val", "valid", "validation", "test", "eval", "dev"})
SPOKEN_RESIZES = frozenset({"interpolate", "resize", "zoom", "imresize", "resample", "Resize", "thumbnail"})
CROPS = ("crop", "patch", "window")
POOLINGS = ("pool", "Pool")


@dataclass(frozen=True, slots=True, eq=False)
class OnlyEvaluated:
    """A resize that only what is measured goes through, and what training does instead, if that is seen."""

    resize: Site
    instead: Site | None = None


def resized_in_evaluation(index: Index, walks: tuple[Walk, ...]) -> Iterator[OnlyEvaluated]:
    """Every resize to a written size on the way into a network that is measured, and not into one trained."""
    if any(_speaks_of_resizing(function) for function in sample_functions(index)):
        return  # then training data may have got that size before
    for walk in walks:
        walk.trace.run.steps = max(walk.trace.run.steps, STEPS // 4)
        try:
            yield from _in_walk(walk)
        except (Exhausted, RecursionError):
            continue


def _in_walk(walk: Walk) -> Iterator[OnlyEvaluated]:
    evaluated = {id(one.forward) for one in walk.evaluations}
    trained = [move for move in walk.moves if move.kind is Kind.FORWARD and id(move) not in evaluated]
    inputs = [arg for move in trained if isinstance(move.event, Call) for arg in move.event.args]
    if not inputs or any(is_resize(one) for arg in inputs for one in _applied(walk, arg)):
        return
    for evaluation in walk.evaluations:
        call = evaluation.forward.event
        if not isinstance(call, Call) or not any(
            same_object(evaluation.network, called_network(move)) for move in trained
        ):
            continue
        for arg in call.args[:1]:
            for one in _applied(walk, arg):
                if is_resize(one) and _is_written(one) and not any(word in one.callee for word in POOLINGS):
                    yield OnlyEvaluated(one.site)


def _applied(walk: Walk, value: Value) -> Iterator[Applied]:
    for one in ingredients(walk.trace.run, value):
        if isinstance(one, Applied):
            yield one


def _is_written(resize: Applied) -> bool:
    """Whether the size is a number in the code or the settings, and not computed from the picture."""
    asked = resize.maker or resize
    sizes = [asked.keywords[name] for name in ("size", "dsize", "scale_factor") if name in asked.keywords]
    sizes = sizes or list(asked.args if resize.maker is not None else asked.args[1:2])
    return bool(sizes) and all(_is_number(size) for size in sizes)


def _is_number(value: Value) -> bool:
    if isinstance(value, Items):
        return bool(value.items) and all(map(_is_number, value.items))
    return isinstance(value, Constant) and isinstance(value.value, int | float)


# --- data sets


def resized_in_data_sets(index: Index) -> Iterator[OnlyEvaluated]:
    """Every data set that crops what is trained on, and squeezes what is measured to a size instead."""
    for function in sample_functions(index):
        if not _speaks_of_resizing(function):
            continue
        for_training, otherwise = _branches(function)
        crop = next(_calls(for_training, lambda name: any(word in name.lower() for word in CROPS)), None)
        resize = next(_calls(otherwise, SPOKEN_RESIZES.__contains__), None)
        crops_too = any(_calls(otherwise, lambda name: any(word in name.lower() for word in CROPS)))
        inside = {id(one) for part in (for_training, otherwise) for one in _nodes(part)}
        elsewhere = any(_is_resizing(one) for one in own_nodes(function.node) if id(one) not in inside)
        if resize is None or crops_too or elsewhere or any(_calls(for_training, _speaks_of_size)):
            continue
        if crop is not None or any(map(_is_cut, _nodes(for_training))):
            site = Site(function.source, resize)
            yield OnlyEvaluated(site, Site(function.source, crop or for_training[0]))


def _branches(function: Function) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """What a function does with what is trained on only, and with what is measured only."""
    for_training: list[ast.stmt] = []
    otherwise: list[ast.stmt] = []
    for node in own_nodes(function.node):
        if not isinstance(node, ast.If):
            continue
        asks = _asks_for_training(node.test)
        if asks is not None:
            (for_training if asks else otherwise).extend(node.body)
            (otherwise if asks else for_training).extend(node.orelse)
    return for_training, otherwise


def _asks_for_training(test: ast.expr) -> bool | None:
    """True for `self.training` and `split == "train"`, False for `not train` and `split != "train"`."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            asks = _asks_for_training(operand)
            return None if asks is None else not asks
        case ast.Compare(ops=[ast.Eq() | ast.NotEq() as op], comparators=[ast.Constant(value=str(split))]):
            if split not in TRAINING_SPLITS | EVALUATION_SPLITS:
                return None
            # `split != "val"` may be the test set as well as training.
            if split in EVALUATION_SPLITS and isinstance(op, ast.NotEq):
                return None
            return (split in TRAINING_SPLITS) == isinstance(op, ast.Eq)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return True if TRAINING_FLAGS.intersection(words(name)) else None
    return None


def _nodes(block: list[ast.stmt]) -> Iterator[ast.AST]:
    for statement in block:
        yield from all_nodes(statement)


def _calls(block: list[ast.stmt], wanted: Callable[[str], bool]) -> Iterator[ast.Call]:
    for node in _nodes(block):
        if isinstance(node, ast.Call) and wanted(bare_name(node)):
            yield node


def _speaks_of_size(name: str) -> bool:
    """`resize`, `random_resized_crop`, `RandomScale`: training has sizes of its own."""
    return name in SPOKEN_RESIZES or any(word in name.lower() for word in ("resize", "scale", "zoom"))


def _is_cut(node: ast.AST) -> bool:
    """`x[..., top:top + size]`."""
    if not isinstance(node, ast.Subscript):
        return False
    slices = all_nodes(node.slice, ast.Slice)
    return any(isinstance(one.lower, ast.Name) and isinstance(one.upper, ast.BinOp) for one in slices)


def _speaks_of_resizing(function: Function) -> bool:
    return any(map(_is_resizing, own_nodes(function.node)))


def _is_resizing(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return bare_name(node) in SPOKEN_RESIZES or (dotted(node.func) or "") in RESIZE_CALLS
