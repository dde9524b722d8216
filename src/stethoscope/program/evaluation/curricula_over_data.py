"""Objects that set data sets to a ramp, and are given held-out ones too.

`Pace((train, val), ...)` keeps its data sets and sets each to `low + share * (high - low)` when it is told
the epoch. What it is given decides: held-out data among them are measured at the difficulty of the epoch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.evaluation.evaluations import DATA_WORDS, TRAINING_WORDS
from stethoscope.program.evaluation.followed_progress import PROGRESS, Following
from stethoscope.program.index import Class, Index
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

SHARES = frozenset({"min", "max", "clamp", "clip", "cos", "exp", "minimum", "maximum"})


@remembered
def curricula_over_data(index: Index) -> tuple[Following, ...]:
    """Every curriculum object that is made with held-out data."""
    setters = {cls.name: (cls, found) for cls in index.classes if (found := dict(_set_by(cls)))}
    if not setters:
        return ()
    following = []
    for module in index.modules.values():
        if is_test(module.source) or not any(f"{name}(" in module.source.text for name in setters):
            continue
        for node in all_nodes(module.source.tree):
            if not isinstance(node, ast.Call) or bare_name(node) not in setters:
                continue
            cls, found = setters[bare_name(node)]
            for name, value in _given(cls, node):
                if name in found and any(map(_is_held_out, all_nodes(value))):
                    made = Site(module.source, node)
                    text = made.text.partition("\n")[0][:80]
                    progress, setting = found[name]
                    following.append(Following(cls.name, text, progress, made.where, setting.where))
    return tuple(following)


def _set_by(cls: Class) -> Iterator[tuple[str, tuple[str, Site]]]:
    """The parameters that a class is made with and sets to a ramp, with the progress and the place."""
    kept = dict(_kept(cls))
    for method in cls.methods.values() if kept else ():
        progress = next((name for name in method.parameters if PROGRESS.match(name)), "")
        if not progress or method.name == "__init__":
            continue
        nodes = list(own_nodes(method.node))
        ramp = _ramp_names(nodes, progress)
        running = {
            node.target.id: attribute
            for node in nodes
            if isinstance(node, ast.For) and isinstance(node.target, ast.Name)
            if (attribute := _own_attribute(node.iter)) in kept
        }
        for node in nodes:
            for receiver, given in _settings(node):
                if not any(isinstance(n, ast.Name) and n.id in ramp for n in all_nodes(given)):
                    continue
                base = _base(receiver)
                attribute = _own_attribute(base) or running.get(getattr(base, "id", ""), "")
                if attribute in kept:
                    yield kept[attribute], (progress, Site(method.source, node))


def _kept(cls: Class) -> Iterator[tuple[str, str]]:
    """The attributes of an object that hold what it was made with."""
    init = cls.methods.get("__init__")
    for node in own_nodes(init.node) if init is not None else ():
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            is_row = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            targets = target.elts if is_row and isinstance(target, ast.Tuple) else [target]
            values = node.value.elts if is_row and isinstance(node.value, ast.Tuple) else [node.value]
            for one, value in zip(targets, values, strict=False):
                if isinstance(value, ast.Call) and bare_name(value) in {"list", "tuple"} and value.args:
                    value = value.args[0]
                attribute = _own_attribute(one)
                if attribute and isinstance(value, ast.Name) and init and value.id in init.parameters:
                    yield attribute, value.id


def _ramp_names(nodes: list[ast.AST], progress: str) -> set[str]:
    """The names of what is computed from the share of training that is done."""
    found: set[str] = set()
    grown = True
    while grown:
        grown = False
        for node in nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in found:
                    if _is_share(value, progress) or found & _names(value):
                        found.add(name)
                        grown = True
    return found


def _is_share(value: ast.expr, progress: str) -> bool:
    """`min(1.0, epoch / epochs)`, `epoch / epochs`."""
    for node in all_nodes(value):
        match node:
            case ast.BinOp(left=left, op=ast.Div()) if progress in _names(left):
                return True
            case ast.Call() if bare_name(node) in SHARES and progress in _names(node):
                return True
    return False


def _settings(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What something is set on, and to what: `data.level = level`, `data.set_level(level)`."""
    match node:
        case ast.Assign(targets=[ast.Attribute(value=receiver)], value=value):
            yield receiver, value
        case ast.Call(func=ast.Attribute(value=receiver, attr=name), args=[value, *_]) if "set" in words(
            name
        ):
            yield receiver, value


def _base(receiver: ast.expr) -> ast.expr:
    """The data set or loader: `self.loader.dataset` is set through `self.loader`."""
    while isinstance(receiver, ast.Attribute) and receiver.attr in {"dataset", "sampler", "transform"}:
        receiver = receiver.value
    return receiver


def _own_attribute(node: ast.expr) -> str:
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name
    return ""


def _given(cls: Class, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    names = [name for name in cls.methods["__init__"].parameters if name != "self"]
    yield from zip(names, call.args, strict=False)
    yield from ((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg)


def _is_held_out(node: ast.AST) -> bool:
    name = str(getattr(node, "id", getattr(node, "attr", "")))
    told = set(words(name))
    return bool(told & DATA_WORDS) and not told & TRAINING_WORDS


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in all_nodes(node, ast.Name)}
