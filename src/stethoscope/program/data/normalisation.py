"""How pictures are normalised for training and for evaluation, where both are written in one file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import External, Index, Module, Variable, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, children
from stethoscope.program.walk.arithmetic import fold_binary
from stethoscope.program.walk.values import Constant, Site
from stethoscope.run import Source

TRAINING_WORDS = frozenset({"train", "training", "trn"})
AUGMENTING_WORDS = frozenset({"aug", "augment", "augmented", "augmentation", "augmentations"})
EVALUATION_WORDS = frozenset({"val", "valid", "validation", "test", "testing", "eval", "evaluation", "dev"})
MOST_CHANNELS = 64
CHAINS = frozenset({"Compose", "Sequential"})
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))  # the defaults of albumentations
Numbers = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Pipeline:
    """A chain of transforms, for whom it is, and the mean and deviation it normalises with.

    `numbers` is None where the chain does not normalise; `known` is false where it does by numbers that
    could not be read. `around` are the statements and containers that hold it, innermost first.
    """

    purpose: str
    site: Site
    numbers: Numbers | None
    known: bool = True
    around: tuple[ast.AST, ...] = ()


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
    chains = [node for node in all_nodes(module.source.tree, ast.Call) if _last(node) in CHAINS]
    nodes = all_nodes(module.source.tree) if chains else ()
    parents = {child: node for node in nodes for child in children(node)}
    for node in chains:
        purpose = _purpose(node, parents) or _purpose_of_data(node, parents)
        steps = _steps(index, module, node)
        if not purpose or steps is None:
            continue
        found = [step for step in steps if _last(step) == "Normalize"]
        defaults = _defaults(index, node, parents)
        numbers = _numbers(index, module, found[0], defaults) if found else None
        is_known = not found or numbers is not None
        around = tuple(_around(node, parents))
        yield Pipeline(purpose, Site(module.source, node), numbers, is_known, around)


def _around(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    while node in parents:
        node = parents[node]
        yield node


def _last(call: ast.Call) -> str:
    return (dotted(call.func) or "").rpartition(".")[2]


def _steps(index: Index, module: Module, call: ast.Call) -> list[ast.Call] | None:
    """The steps of a chain, None where some of them are not written there."""
    inner = call.args[0] if call.args else None
    given = inner.elts if isinstance(inner, ast.List | ast.Tuple) else call.args
    steps = [_step(index, module, step) for step in given]
    known = [step for step in steps if step is not None]
    return known if known and len(known) == len(steps) else None


def _step(index: Index, module: Module, node: ast.expr) -> ast.Call | None:
    """A step that is made in its place, or before under a name of the module."""
    if isinstance(node, ast.Name):
        target = index.resolve(module, node.id)
        return target.value if isinstance(target, Variable) and isinstance(target.value, ast.Call) else None
    return node if isinstance(node, ast.Call) else None


def _purpose(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> str:
    """ "train" or "eval", by the nearest name that says so: a variable, a key, a condition, a function."""
    while node in parents:
        parent = parents[node]
        for text in _names_around(parent, node):
            purpose = _spoken_purpose(text)
            if purpose:
                return purpose
        for test, holds in _conditions_around(parent, node):
            purpose = _spoken_purpose(ast.unparse(test))
            if purpose:
                is_negated = isinstance(test, ast.UnaryOp) or "!=" in ast.unparse(test)
                return purpose if holds is not is_negated else OTHER[purpose]
        node = parent
    return ""


def _purpose_of_data(chain: ast.AST, parents: dict[ast.AST, ast.AST]) -> str:
    """ "train" or "eval", by the data sets that a chain is given to under its name, where they agree."""
    assigned = parents.get(chain)
    if not (isinstance(assigned, ast.Assign) and isinstance(assigned.targets[0], ast.Name)):
        return ""
    name = assigned.targets[0].id
    uses = (node for node in parents if isinstance(node, ast.Name) and node.id == name)
    given = (parents[use] for use in uses if isinstance(use.ctx, ast.Load))
    calls = [parents.get(one) if isinstance(one, ast.keyword) else one for one in given]
    found = {_asked_of(call) or _purpose(call, parents) for call in calls if isinstance(call, ast.Call)}
    return found.pop() if len(found) == 1 else ""


def _asked_of(call: ast.Call) -> str:
    """For whom a data set is made, by the part of the data that it is asked for."""
    for keyword in call.keywords:
        match keyword:
            case ast.keyword(arg="train", value=ast.Constant(value=bool(asked))):
                return "train" if asked else "eval"
            case ast.keyword(arg="split" | "subset" | "mode" | "phase", value=ast.Constant(value=str(part))):
                return _spoken_purpose(part)
    return ""


OTHER = {"train": "eval", "eval": "train"}


def _spoken_purpose(text: str) -> str:
    parts = {word for name in re.findall(r"\w+", text) for word in words(name)}
    trains, judges = parts & TRAINING_WORDS, parts & EVALUATION_WORDS
    if judges and not trains:
        return "eval"
    return "train" if (trains or parts & AUGMENTING_WORDS) and not judges else ""


def _conditions_around(parent: ast.AST, child: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """The conditions that decide whether a statement is reached, each with how it must come out."""
    match parent:
        case ast.If(test=test, body=body, orelse=orelse):
            if child in body or child in orelse:
                yield test, child in body
        case ast.IfExp(test=test, body=one, orelse=other):
            if child is one or child is other:
                yield test, child is one
        case ast.FunctionDef(body=body) if child in body:
            for before in body[: body.index(child)]:  # `if train: return ...` leaves the other case
                if (
                    isinstance(before, ast.If)
                    and not before.orelse
                    and isinstance(before.body[-1], ast.Return)
                ):
                    yield before.test, False


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
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name


def _defaults(index: Index, node: ast.AST, parents: dict[ast.AST, ast.AST]) -> dict[str, ast.expr]:
    """The defaults of the function around a chain that no caller in the program overrides."""
    while node in parents and not isinstance(node, ast.FunctionDef):
        node = parents[node]
    if not isinstance(node, ast.FunctionDef):
        return {}
    spec = node.args
    pairs = zip(reversed([*spec.posonlyargs, *spec.args]), reversed(spec.defaults), strict=False)
    found = {arg.arg: default for arg, default in pairs}
    named = zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
    found.update({arg.arg: default for arg, default in named if default is not None})
    owner = parents.get(node)
    called = owner.name if isinstance(owner, ast.ClassDef) else node.name
    given = _keywords_given(index, called)
    return {} if None in given else {name: default for name, default in found.items() if name not in given}


def _keywords_given(index: Index, called: str) -> set[str | None]:
    """The keywords under which a function or class is given something anywhere; None for `**`."""
    return {
        keyword.arg
        for module in index.modules.values()
        if called in module.source.text
        for call in all_nodes(module.source.tree, ast.Call)
        if _last(call) == called
        for keyword in call.keywords
    }


def _numbers(index: Index, module: Module, call: ast.Call, defaults: dict[str, ast.expr]) -> Numbers | None:
    if not call.args and not call.keywords:
        target = index.resolve(module, dotted(call.func) or "")
        is_known = isinstance(target, External) and target.name.startswith("albumentations")
        return IMAGENET if is_known else None
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    mean = given.get("mean", call.args[0] if call.args else None)
    deviation = given.get("std", call.args[1] if len(call.args) > 1 else None)
    mean, deviation = (
        defaults.get(node.id, node) if isinstance(node, ast.Name) else node for node in (mean, deviation)
    )
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
    match node:
        case ast.BinOp(
            left=ast.List() | ast.Tuple() as once, op=ast.Mult(), right=ast.Constant(value=int() as n)
        ):
            repeated = _tuple(index, module, once)
            return repeated * n if repeated is not None and 0 < n <= MOST_CHANNELS else None
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
