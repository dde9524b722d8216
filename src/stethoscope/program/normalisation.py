"""How pictures are normalised for training and for evaluation, where both are written in one file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.arithmetic import fold_binary
from stethoscope.program.index import Index, Module, Variable, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.values import Constant, Site
from stethoscope.run import Source

TRAINING_WORDS = frozenset({"train", "training", "trn", "aug", "augment", "augmented", "augmentation"})
EVALUATION_WORDS = frozenset({"val", "valid", "validation", "test", "testing", "eval", "evaluation", "dev"})
CHAINS = frozenset({"Compose", "Sequential"})
Numbers = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Pipeline:
    """A chain of transforms, for whom it is, and the mean and deviation it normalises with.

    `numbers` is None where the chain does not normalise; `known` is false where it does by numbers that
    could not be read.
    """

    purpose: str
    site: Site
    numbers: Numbers | None
    known: bool = True


@remembered
def pipelines(index: Index) -> tuple[Pipeline, ...]:
    """Every chain of transforms that is for training or for evaluation by the names around it."""
    return tuple(
        pipeline
        for module in index.modules.values()
        if "Normalize" in module.source.text
        for pipeline in _pipelines(index, module)
    )


def _pipelines(index: Index, module: Module) -> Iterator[Pipeline]:
    parents = {child: node for node in ast.walk(module.source.tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(module.source.tree):
        if not (isinstance(node, ast.Call) and _last(node) in CHAINS):
            continue
        purpose = _purpose(node, parents)
        steps = _steps(node)
        if not purpose or steps is None:
            continue
        found = [step for step in steps if isinstance(step, ast.Call) and _last(step) == "Normalize"]
        numbers = _numbers(index, module, found[0]) if found else None
        yield Pipeline(purpose, Site(module.source, node), numbers, not found or numbers is not None)


def _last(call: ast.Call) -> str:
    return (dotted(call.func) or "").rpartition(".")[2]


def _steps(call: ast.Call) -> list[ast.expr] | None:
    """The steps of a chain, None where some of them are not written there."""
    inner = call.args[0] if call.args else None
    steps = inner.elts if isinstance(inner, ast.List | ast.Tuple) else call.args
    return list(steps) if all(isinstance(step, ast.Call) for step in steps) and steps else None


def _purpose(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> str:
    """ "train" or "eval", by the nearest name that says so: a variable, a key, a condition, a function."""
    while node in parents:
        parent = parents[node]
        for text in _names_around(parent, node):
            parts = {word for name in re.findall(r"\w+", text) for word in words(name)}
            if parts & TRAINING_WORDS and not parts & EVALUATION_WORDS:
                return "train"
            if parts & EVALUATION_WORDS and not parts & TRAINING_WORDS:
                return "eval"
        node = parent
    return ""


def _names_around(parent: ast.AST, child: ast.AST) -> Iterator[str]:
    match parent:
        case ast.Assign(targets=targets):
            yield from (name for target in targets if (name := dotted(target)))
            yield from (
                str(target.slice.value)
                for target in targets
                if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant)
            )
        case ast.Dict(keys=keys, values=values) if child in values:
            key = keys[values.index(child)]
            if isinstance(key, ast.Constant):
                yield str(key.value)
        case ast.If(test=test, body=body) if child in body:
            yield ast.unparse(test)
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name


def _numbers(index: Index, module: Module, call: ast.Call) -> Numbers | None:
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    mean = given.get("mean", call.args[0] if call.args else None)
    deviation = given.get("std", call.args[1] if len(call.args) > 1 else None)
    first, second = _tuple(index, module, mean), _tuple(index, module, deviation)
    return (first, second) if first is not None and second is not None else None


def _tuple(index: Index, module: Module, node: ast.expr | None) -> tuple[float, ...] | None:
    if isinstance(node, ast.Name | ast.Attribute):
        target = index.resolve(module, dotted(node) or "")
        return (
            _tuple(index, index.module_of(target.source), target.value)
            if isinstance(target, Variable)
            else None
        )
    if not isinstance(node, ast.List | ast.Tuple):
        return None
    numbers = [_number(module.source, element) for element in node.elts]
    return tuple(number for number in numbers if number is not None) if None not in numbers else None


def _number(source: Source, node: ast.expr) -> float | None:
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.BinOp(left=left, op=op, right=right):
            one, other = _number(source, left), _number(source, right)
            if one is None or other is None:
                return None
            folded = fold_binary(op, Constant(one), Constant(other), Site(source, node))
            known = folded.value if isinstance(folded, Constant) else None
            return float(known) if isinstance(known, int | float) else None
    return None
