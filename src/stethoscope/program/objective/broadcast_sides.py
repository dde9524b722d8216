"""Predictions and targets of which one is a row and the other a column, so that all are held against all.

`F.mse_loss(net(x).squeeze(1), y.unsqueeze(1))` and `(out[:, 0] - target[:, :1]).square().mean()`: shapes
(n,) and (n, 1) are broadcast to (n, n) without a word where a loss does not insist on equal shapes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from stethoscope.program.index import Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import FunctionNode, all_nodes, bodies, own_below
from stethoscope.program.walk.values import Site

DEPTH = 8
# Losses that broadcast; a binary cross entropy refuses to.
LOSSES = frozenset({"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"})
MADE = frozenset({"MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss"})
LEAVING = frozenset({"float", "to", "cpu", "cuda", "detach", "double", "half", "contiguous", "clone", "type"})
# What holds everything against everything on purpose.
PAIRWISE = frozenset({
    "pair", "pairs", "pairwise", "rank", "ranking", "cox", "kernel", "gram", "dist", "distance", "distances",
    "matrix", "mmd", "risk", "concordance", "contrastive", "cdist", "outer", "attention", "relative", "grid",
})  # fmt: skip

MEASURING = frozenset({
    "evaluate", "evaluation", "eval", "validate", "validation", "valid", "val", "test", "metric", "metrics",
    "score", "rmse", "mae", "r2", "accuracy",
})  # fmt: skip


class Shape(StrEnum):
    """(n,) or (n, 1)."""

    ROW = "row"
    COLUMN = "column"


@dataclass(frozen=True, slots=True, eq=False)
class BroadcastSides:
    """A comparison of a row with a column; `is_measured` where it is for a score and not for a loss."""

    site: Site
    row: str
    column: str
    is_measured: bool = False


@remembered
def broadcast_sides(index: Index) -> tuple[BroadcastSides, ...]:
    """Look through every function of a program that speaks of shapes."""
    found: dict[ast.AST, BroadcastSides] = {}
    for module in index.modules.values():
        criteria = frozenset(_criteria(module.source.tree))
        measured = [*_measuring_lines(module.source.tree)]
        for body in bodies(module.source.tree):
            own = list(_own(body))
            known = _given_once(own)
            for node in own:
                for left, right in _compared(node, criteria):
                    shapes = {_shape(left, known, DEPTH): left, _shape(right, known, DEPTH): right}
                    if {Shape.ROW, Shape.COLUMN} <= shapes.keys() and not _is_pairwise(node):
                        row, column = ast.unparse(shapes[Shape.ROW]), ast.unparse(shapes[Shape.COLUMN])
                        line = getattr(node, "lineno", 0)
                        is_measured = any(first <= line <= last for first, last in measured)
                        found[node] = BroadcastSides(Site(module.source, node), row, column, is_measured)
    return tuple(found.values())


def _measuring_lines(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """The lines of functions that evaluate by their name, and of blocks without gradients."""
    for node in all_nodes(tree, ast.FunctionDef, ast.AsyncFunctionDef, ast.With, ast.AsyncWith):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            is_measuring = bool(MEASURING & set(words(node.name)))
        elif isinstance(node, ast.With | ast.AsyncWith):
            entered = " ".join(ast.unparse(item.context_expr) for item in node.items)
            is_measuring = "no_grad" in entered or "inference_mode" in entered
        else:
            continue
        if is_measuring:
            yield node.lineno, node.end_lineno or node.lineno


def _own(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes of a body, without those of definitions inside it."""
    for statement in reversed(body):
        if not isinstance(statement, FunctionNode | ast.ClassDef):
            yield from own_below(statement)


def _criteria(tree: ast.Module) -> Iterator[str]:
    """The names that hold a loss which broadcasts: `criterion = nn.MSELoss()`."""
    for node in all_nodes(tree, ast.Assign):
        made = node.value
        if isinstance(made, ast.Call) and (dotted(made.func) or "").rpartition(".")[2] in MADE:
            yield from (ast.unparse(target) for target in node.targets)


def _given_once(nodes: Sequence[ast.AST]) -> dict[str, ast.expr]:
    found: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node.value)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def _compared(node: ast.AST, criteria: frozenset[str]) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The two sides of a loss, or of a difference that is squared or made positive."""
    if not isinstance(node, ast.Call | ast.BinOp):
        return
    if isinstance(node, ast.Call):
        name = dotted(node.func) or ""
        is_loss = name.rpartition(".")[2] in LOSSES or name in criteria
        if is_loss and len(node.args) >= 2:
            yield node.args[0], node.args[1]
        if isinstance(node.func, ast.Attribute) and node.func.attr in {"square", "abs", "pow"}:
            yield from _difference(node.func.value)
        elif node.args and name.rpartition(".")[2] in {"square", "abs"}:
            yield from _difference(node.args[0])
    elif isinstance(node.op, ast.Pow):
        yield from _difference(node.left)


def _difference(node: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The sides of a difference that takes columns out of two things by their places.

    Other shapes are how people write that all pairs are meant.
    """
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        is_of_two = _names(node.left) != _names(node.right)
        are_taken_out = _is_taken_out(node.left) and _is_taken_out(node.right)
        is_squeezed = _is_squeezed_answer(node.left) or _is_squeezed_answer(node.right)
        if is_of_two and (are_taken_out or is_squeezed):
            yield node.left, node.right


def _is_squeezed_answer(node: ast.expr) -> bool:
    """`net(x).squeeze(1)`: an answer that was made a row by hand is meant to meet one target each."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Call(), attr="squeeze")):
            return True
    return False


def _is_taken_out(node: ast.expr) -> bool:
    match node:
        case ast.Subscript(slice=ast.Tuple(elts=[ast.Slice(), place])):
            return not (isinstance(place, ast.Constant) and place.value is None)
    return False


def _names(node: ast.expr) -> set[str]:
    return {one.id for one in all_nodes(node, ast.Name)}


def _shape(node: ast.expr, known: Mapping[str, ast.expr], depth: int) -> Shape | None:
    if depth == 0:
        return None
    match node:
        case ast.Name(id=name) if name in known:
            return _shape(known[name], known, depth - 1)
        case ast.Subscript(slice=ast.Tuple(elts=[ast.Slice(lower=None, upper=None), place])):
            return _of_place(place)
        case ast.Call(func=ast.Attribute(value=inner, attr=name), args=args):
            return _of_method(inner, name, args, known, depth)
    return None


def _of_place(place: ast.expr) -> Shape | None:
    """`x[:, 0]` is a row; `x[:, :1]`, `x[:, [0]]` and `x[:, None]` are columns."""
    match place:
        case ast.Constant(value=None):
            return Shape.COLUMN
        case ast.Constant(value=int()) | ast.UnaryOp(operand=ast.Constant(value=int())):
            return Shape.ROW
        case ast.List(elts=[_]) | ast.Slice(lower=None, upper=ast.Constant(value=1)):
            return Shape.COLUMN
        case ast.Slice(lower=ast.Constant(value=int() as first), upper=ast.Constant(value=int() as last)):
            return Shape.COLUMN if last - first == 1 else None
        case ast.Slice(lower=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)), upper=None):
            return Shape.COLUMN
    return None


def _of_method(
    inner: ast.expr, name: str, args: Sequence[ast.expr], known: Mapping[str, ast.expr], depth: int
) -> Shape | None:
    told = [ast.unparse(arg) for arg in args]
    if name in {"view", "reshape"}:
        return Shape.ROW if told == ["-1"] else Shape.COLUMN if told == ["-1", "1"] else None
    if name in {"flatten", "ravel"} and not told:
        return Shape.ROW
    if name == "squeeze" and told in (["1"], ["-1"], []):
        return Shape.ROW
    if name == "unsqueeze" and told in (["1"], ["-1"]):
        return Shape.COLUMN
    return _shape(inner, known, depth - 1) if name in LEAVING else None


def _is_pairwise(node: ast.AST) -> bool:
    said = (getattr(one, "id", getattr(one, "attr", "")) for one in all_nodes(node))
    return any(PAIRWISE & set(words(name)) for name in said if isinstance(name, str))
