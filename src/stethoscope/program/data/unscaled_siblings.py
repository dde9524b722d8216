"""Held-out arrays that are never scaled as the training array beside them was."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.data.leaks import HELD_OUT, TRAINING
from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes, bodies
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

SCALERS = ("Scaler", "Normalizer", "PowerTransformer", "QuantileTransformer", "PCA", "Imputer")
# What may scale by a name of its own.
MAY_SCALE = ("transform", "scale", "norm", "standard", "prep", "whiten", "encode")
# Functions of every number by itself, and what undoes them.
BENT_BACK_BY = {"log1p": "exp", "log": "exp", "log2": "exp2", "log10": "10 **", "sqrt": "square"}
# What is divided to make an average, and is no array.
NUMBERS = frozenset({
    "loss", "losses", "acc", "accuracy", "error", "correct", "total", "sum", "score", "time", "size", "n",
    "num", "count", "steps", "mean", "avg", "running", "cost", "metric", "rmse", "mse", "mae", "ratio",
    "frac", "len", "psnr", "curve", "history", "hist", "ppl", "perplexity", "std", "var",
})  # fmt: skip
PEAKS = frozenset({255, 256, 127.5, 128, 32767, 32768})  # of bytes, and of recorded sound
TARGETS = frozenset({"y", "target", "targets", "label", "labels"})


@dataclass(frozen=True, slots=True, eq=False)
class UnscaledSibling:
    """Where the training array is scaled, the held-out one that is not, and where that is used."""

    scaled: Site
    name: str
    used: Site


def unscaled_siblings(index: Index) -> Iterator[UnscaledSibling]:
    """The held-out arrays that a scaler was never asked for."""
    for module in index.modules.values():
        source = module.source
        if is_test(source):
            continue
        for body in bodies(source.tree):
            nodes = [node for statement in body for node in all_nodes(statement)]
            by_numbers = list(_bent(source.text, nodes))
            for scaled, name in (*_scaled(nodes), *by_numbers):
                for sibling in _siblings(nodes, name):
                    if _is_cut_off(nodes, scaled, sibling, name) or (
                        (scaled, name) in by_numbers and not _made_alike(nodes, name, sibling)
                    ):
                        continue
                    used = _used(nodes, sibling)
                    if used is not None:
                        yield UnscaledSibling(Site(source, scaled), sibling, Site(source, used))


def _scaled(nodes: Sequence[ast.AST]) -> Iterator[tuple[ast.Call, str]]:
    """`x_train = StandardScaler().fit_transform(x_train)`."""
    made = {
        target.id: bare_name(node.value)
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    fitted = {name for node in nodes if (name := _fitted(node))}
    for node in nodes:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=kept)],
                value=ast.Call(
                    func=ast.Attribute(value=scaler, attr="fit_transform" | "transform" as verb),
                    args=[given, *_],
                ) as call,
            ) if _is_of_training(given) and (verb == "fit_transform" or _name(scaler) in fitted):
                kind = bare_name(scaler) if isinstance(scaler, ast.Call) else made.get(_name(scaler), "")
                spoken = set(words(kept))
                if kind.endswith(SCALERS) and spoken & TRAINING and not spoken & TARGETS:
                    yield call, kept


def _bent(text: str, nodes: Sequence[ast.AST]) -> Iterator[tuple[ast.AST, str]]:
    """Where every number of a training array is bent alike: `x_train = np.log1p(x_train)`, `x_train / 255.0`.

    Answers that are bent may be bent back for what is measured, by the opposite function.
    """
    for node in nodes:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=kept)],
                value=ast.Call(args=[ast.Name(id=given)]) as call,
            ) if bare_name(call) in BENT_BACK_BY and kept == given:
                is_answer = bool(set(words(kept)) & TARGETS)
                if not (is_answer and BENT_BACK_BY[bare_name(call)] in text):
                    yield from _of_training(node, kept)
            case ast.Assign(
                targets=[ast.Name(id=kept)],
                value=ast.BinOp(left=ast.Name(id=given), op=ast.Div(), right=ast.Constant(value=peak)),
            ) if kept == given and peak in PEAKS:
                yield from _of_training(node, kept)
            case ast.AugAssign(target=ast.Name(id=kept), op=ast.Div(), value=ast.Constant(value=peak)) if (
                peak in PEAKS
            ):
                yield from _of_training(node, kept)


def _of_training(node: ast.AST, name: str) -> Iterator[tuple[ast.AST, str]]:
    """The node and the name, where the name says that an array is of training, and no number beside it."""
    spoken = set(words(name))
    if spoken & TRAINING and not spoken & NUMBERS:
        yield node, name


def _is_cut_off(nodes: Sequence[ast.AST], scaled: ast.AST, sibling: str, name: str) -> bool:
    """Whether the held-out array is cut off the training array behind the scaling, and is scaled with it."""
    return any(
        _keeps(node.targets, sibling)
        and node.lineno > getattr(scaled, "lineno", 0)
        and name in (read := {one.id for one in all_nodes(node.value, ast.Name)})
        and sibling not in read
        for node in nodes
        if isinstance(node, ast.Assign)
    )


def _made_alike(nodes: Sequence[ast.AST], name: str, sibling: str) -> bool:
    """Whether both arrays come from one statement or one function: what is read elsewhere may be ready."""
    given = [node for node in nodes if isinstance(node, ast.Assign)]
    if any(_keeps(node.targets, name) and _keeps(node.targets, sibling) for node in given):
        return True
    makers = [
        {
            bare_name(node.value)
            for node in given
            if isinstance(node.value, ast.Call) and _keeps(node.targets, one)
        }
        for one in (name, sibling)
    ]
    return bool(makers[0] & makers[1])


def _is_of_training(given: ast.expr) -> bool:
    """`x_train`, `train_df[columns]`, `frames["train"].values`."""
    spoken = {word for node in all_nodes(given, ast.Name) for word in words(node.id)}
    return bool(spoken & TRAINING) and not spoken & HELD_OUT


def _fitted(node: ast.AST) -> str:
    """The scaler that is fitted to training data: `scaler.fit(x_train)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=scaler), attr="fit"), args=[given, *_]):
            return scaler if _is_of_training(given) else ""
    return ""


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _siblings(nodes: Sequence[ast.AST], name: str) -> Iterator[str]:
    """The names that differ from that of the training array in the word for what is held out alone."""
    stem = [word for word in words(name) if word not in TRAINING]
    for other in sorted({node.id for node in nodes if isinstance(node, ast.Name)}):
        spoken = words(other)
        is_held_out = any(word in HELD_OUT for word in spoken)
        if is_held_out and [word for word in spoken if word not in HELD_OUT] == stem:
            yield other


def _used(nodes: Sequence[ast.AST], name: str) -> ast.AST | None:
    """Where an array is used that nothing may have scaled; None where something may."""
    for node in nodes:
        match node:
            case ast.Assign(targets=targets, value=value) if _keeps(targets, name) and _may_scale(value):
                return None
            case ast.Call() if bare_name(node) in BENT_BACK_BY or any(
                word in bare_name(node).lower() for word in MAY_SCALE
            ):
                if _speaks_of(node, name):
                    return None
            case ast.BinOp(op=ast.Sub() | ast.Div() | ast.Mult(), left=left) if _speaks_of(left, name):
                return None
            case ast.AugAssign(target=ast.Name(id=changed)) if changed == name:
                return None
            case ast.For(iter=several) if _speaks_of(several, name):
                return None
    read = (node for node in nodes if isinstance(node, ast.Name) and node.id == name)
    return next((node for node in read if isinstance(node.ctx, ast.Load)), None)


def _keeps(targets: Sequence[ast.expr], name: str) -> bool:
    kept = (one for target in targets for one in all_nodes(target))
    return any(isinstance(one, ast.Name) and one.id == name for one in kept)


def _may_scale(value: ast.expr) -> bool:
    """Whether what is kept under a name may come out of a scaler, or of arithmetic."""
    return any(
        (isinstance(node, ast.Call) and any(word in bare_name(node).lower() for word in MAY_SCALE))
        or isinstance(node, ast.BinOp)
        for node in all_nodes(value)
    )


def _speaks_of(node: ast.AST, name: str) -> bool:
    """Whether a name stands in an expression as it is, and not in a call inside it."""
    waiting: list[ast.AST] = [*getattr(node, "args", ()), *getattr(node, "keywords", ())] or [node]
    while waiting:
        current = waiting.pop()
        if isinstance(current, ast.Name) and current.id == name:
            return True
        if not isinstance(current, ast.Call):
            waiting.extend(ast.iter_child_nodes(current))
    return False
