"""Labels that are counted from another number in one part of the data than in the other.

if train:
    self.labels = self.labels - 1
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.data.leaks import HELD_OUT, TRAINING
from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

LABELS = frozenset({
    "label", "labels", "target", "targets", "y", "ys", "cls", "class", "classes", "category", "categories",
    "lbl", "answer", "answers",
})  # fmt: skip
ASKING = frozenset({"split", "mode", "phase", "stage", "subset", "partition", "training", "is"})


@dataclass(frozen=True, slots=True, eq=False)
class ShiftedForOne:
    """The shift of labels, and the condition that only one part of the data meets."""

    shift: Site
    condition: str
    name: str


@remembered
def shifted_for_one(index: Index) -> tuple[ShiftedForOne, ...]:
    """Every shift of labels by a whole number that depends on which part of the data it is."""
    return tuple(
        found
        for function in index.functions
        if function.owner is not None and not is_test(function.source)
        for found in _in_function(function)
    )


def _in_function(function: Function) -> Iterator[ShiftedForOne]:
    for block in own_nodes(function.node, ast.If):
        if not _asks_for_part(block.test):
            continue
        here = [found for one in block.body if (found := _shift(one)) is not None]
        there = {found[0] for one in block.orelse if (found := _shift(one)) is not None}
        for name, node in here:
            if name not in there:
                yield ShiftedForOne(Site(function.source, node), ast.unparse(block.test), name)
    for node in own_nodes(function.node, ast.IfExp):
        if _asks_for_part(node.test):
            for one, other in ((node.body, node.orelse), (node.orelse, node.body)):
                shifted = _shifted(one)
                if shifted and shifted == _plain(other) and LABELS.intersection(words(shifted)):
                    yield ShiftedForOne(Site(function.source, node), ast.unparse(node.test), shifted)


def _asks_for_part(test: ast.expr) -> bool:
    """`train`, `self.split == "train"`, `not is_train`."""
    said: set[str] = set()
    for node in all_nodes(test):
        match node:
            case ast.Call():
                return False
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str() as name):
                said |= set(words(name))
    return bool(said & (TRAINING | HELD_OUT)) and said <= TRAINING | HELD_OUT | ASKING | {"self"}


def _shift(statement: ast.stmt) -> tuple[str, ast.AST] | None:
    """`labels = labels - 1`, `labels -= 1`: the name and the statement."""
    match statement:
        case ast.AugAssign(target=target, op=ast.Add() | ast.Sub(), value=ast.Constant(value=int())):
            name = _name(target)
            return (name, statement) if _is_label(name) else None
        case ast.Assign(targets=[target], value=value):
            name = _name(target)
            return (name, statement) if _is_label(name) and _shifted(value) == name else None
    return None


def _shifted(value: ast.expr) -> str:
    match value:
        case ast.BinOp(op=ast.Add() | ast.Sub(), left=left, right=ast.Constant(value=int() as by)) if by:
            return _name(left)
    return ""


def _plain(value: ast.expr) -> str:
    return _name(value)


def _name(node: ast.AST) -> str:
    return dotted(node) or ""


def _is_label(name: str) -> bool:
    return bool(LABELS.intersection(words(name.rpartition(".")[2])))
