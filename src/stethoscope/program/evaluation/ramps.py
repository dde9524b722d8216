"""Ramps: arithmetic on the progress of training, `0.5 * min(1.0, epoch / warm)`.

A learning rate, a decay of an average and what is only printed or logged are none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.evaluation.evaluations import names_in
from stethoscope.program.evaluation.followed_progress import PROGRESS
from stethoscope.program.index import Class
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes, own_nodes

# fmt: off
SPEAKING = frozenset({
    "print", "log", "info", "debug", "warning", "add_scalar", "add_scalars", "set_description", "set_postfix",
    "write", "format", "log_dict", "log_metrics", "save", "tqdm", "set_postfix_str", "add_image", "record",
    "log_scalar", "track", "report", "manual_seed", "seed", "set_epoch", "Generator",
})
# What follows the progress of training and is no difficulty of what is measured.
OTHER_RAMPS = frozenset({
    "lr", "decay", "momentum", "ema", "eta", "tau", "temp", "temperature", "alpha", "gamma", "patience",
    "eps", "epsilon", "wd", "rate", "percent", "pct", "elapsed", "speed", "time",
})
# fmt: on
BOUNDING = frozenset({"min", "max", "clamp", "clip", "cos", "exp", "sin", "minimum", "maximum"})


@dataclass(frozen=True, slots=True, eq=False)
class FoundRamp:
    """Arithmetic on the progress of training, and the name of that progress."""

    node: ast.expr
    progress: str


def ramps_among(nodes: list[ast.AST], known: frozenset[str], counters: frozenset[str]) -> Iterator[FoundRamp]:
    """The arithmetic on the progress among nodes."""
    other = {
        id(inner)
        for node in nodes
        for target, value in given_pairs(node)
        if is_other_ramp(target)
        for inner in all_nodes(value)
    }
    bounded = {
        id(inner)
        for node in nodes
        if isinstance(node, ast.Call) and called_name(node) in BOUNDING
        for inner in all_nodes(node)
    }
    unread = _unread(nodes)
    for node in nodes:
        if not isinstance(node, ast.BinOp) or id(node) in other or id(node) in unread:
            continue
        is_share = isinstance(node.op, ast.Div)
        if not is_share and not (
            isinstance(node.op, ast.Mult | ast.Pow | ast.FloorDiv) and id(node) in bounded
        ):
            continue
        sides = [node.left] if isinstance(node.op, ast.Div | ast.FloorDiv) else [node.left, node.right]
        for side in sides:
            progress = _progress(side, known, counters if id(node) in bounded else frozenset())
            if progress:
                yield FoundRamp(node, progress)
                break


def _unread(nodes: list[ast.AST]) -> set[int]:
    """What is given to a name that nothing here reads but what speaks of it."""
    read = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return {
        id(inner)
        for node in nodes
        for target, value in given_pairs(node)
        if isinstance(target, ast.Name) and target.id not in read
        for inner in all_nodes(value)
    }


def only_spoken(nodes: list[ast.AST], known: frozenset[str]) -> set[int]:
    """What is only printed, logged or made into a text: numbers, and what the progress alone makes."""
    found: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            found.update(id(inner) for inner in all_nodes(node))
        if not isinstance(node, ast.Call) or called_name(node) not in SPEAKING:
            continue
        for value in (*node.args, *(keyword.value for keyword in node.keywords)):
            is_measured = isinstance(value, ast.Call) and not any(is_progress(a, known) for a in value.args)
            if not is_measured:
                found.update(id(inner) for inner in all_nodes(value))
    return found


def _progress(side: ast.expr, known: frozenset[str], counters: frozenset[str]) -> str:
    for node in all_nodes(side):
        if isinstance(node, ast.Call):
            return ""  # a computed number is not the progress itself
        if isinstance(node, ast.Name) and node.id in known:
            return node.id
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            is_counted = (
                node.attr in counters and isinstance(node.value, ast.Name) and node.value.id == "self"
            )
            if is_counted or (PROGRESS.match(node.attr) and not node.attr.endswith(("steps", "iters"))):
                return node.attr
    return ""


def is_other_ramp(target: ast.expr) -> bool:
    """Whether a target holds a rate, a decay or the like, which follows the progress by its nature."""
    named = [word for name in names_in(target) for word in words(name)]
    return any(word in OTHER_RAMPS for word in named[-1:]) or bool({"lr", "ema", "momentum"} & set(named))


def progress_names(nodes: Sequence[ast.AST]) -> set[str]:
    """The names of epochs and steps that loops count: their variables, and what is counted up by one."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
            called = called_name(node.iter)
            first = node.target.elts[0] if isinstance(node.target, ast.Tuple) else node.target
            is_counted = called in {"range", "trange", "count"} or (
                called == "enumerate" and isinstance(node.target, ast.Tuple)
            )
            if is_counted and isinstance(first, ast.Name) and PROGRESS.match(first.id):
                found.add(first.id)
        match node:
            case ast.AugAssign(target=ast.Name(id=name)) if PROGRESS.match(name):
                found.add(name)
    return found


def is_progress(value: ast.expr, known: frozenset[str]) -> bool:
    """Whether a value is the progress itself, in whatever sums."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Sub):
        return is_progress(value.left, known)
    if isinstance(value, ast.Name):
        return value.id in known
    return isinstance(value, ast.Attribute) and bool(PROGRESS.match(value.attr))


def given_pairs(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets of an assignment with what each is given."""
    if not isinstance(node, ast.Assign):
        return
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        else:
            yield target, node.value


def set_back(cls: Class) -> frozenset[str]:
    """The attributes that a method sets to a number later on: the rows of an episode, the batches of one
    epoch. What counts the progress of training is never set back."""
    return frozenset(
        target.attr
        for name, method in cls.methods.items()
        if name != "__init__"
        for node in own_nodes(method.node, ast.Assign)
        for target, value in given_pairs(node)
        if isinstance(target, ast.Attribute) and isinstance(value, ast.Constant)
    )


def called_name(node: ast.AST) -> str:
    """The last name of what is called."""
    if not isinstance(node, ast.Call):
        return ""
    return str(getattr(node.func, "attr", None) or getattr(node.func, "id", ""))
