"""Losses that a Trainer of transformers gets as means, divided once more by the items of the update.

The Trainer tells `compute_loss(..., num_items_in_batch)` how many targets all batches of an update have
together: a sum over the targets is divided by it. A mean has been divided by the targets of its own batch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Where

COUNT = "num_items_in_batch"
HOPS = 4  # variables between a loss and the call that computes it
MEANS = frozenset(
    {"cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss"}
    | {"l1_loss", "smooth_l1_loss", "huber_loss", "kl_div"}
)


@dataclass(frozen=True, slots=True)
class DividedMean:
    """Where a mean is divided by the count of the update, and where the mean is computed."""

    divided: Where
    mean: Where
    text: str


def divided_means(index: Index) -> Iterator[DividedMean]:
    """Every mean that a `compute_loss`, or a function with its count, divides by that count."""
    for function in index.functions:
        if COUNT in function.parameters and not is_test(function.source):
            yield from _in(index, function)


def _in(index: Index, function: Function) -> Iterator[DividedMean]:
    counts = _names_of_count(function)
    for node, divided, by in _divisions(function):
        if not _is_count(by, counts):
            continue
        means = [_mean(index, function, one, HOPS) for one in _values(function, divided)]
        if means and all(means):
            assert means[0] is not None
            source = function.source
            yield DividedMean(source.where(node), source.where(means[0]), ast.unparse(means[0]))


def _divisions(function: Function) -> Iterator[tuple[ast.AST, ast.expr, ast.expr]]:
    for node in own_nodes(function.node, ast.BinOp):
        if isinstance(node.op, ast.Div):
            yield node, node.left, node.right
    for step in own_nodes(function.node, ast.AugAssign):
        if isinstance(step.op, ast.Div):
            yield step, step.target, step.value


def _names_of_count(function: Function) -> frozenset[str]:
    """The variables of a function that are the count: one that falls back to another count is, too."""
    found = {COUNT}
    for node in own_nodes(function.node, ast.Assign):  # in the order of the source
        mentions = {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)}
        if isinstance(node.value, ast.Name | ast.IfExp | ast.Call) and mentions & found:
            is_loss = isinstance(node.value, ast.Call) and not _is_count(node.value, frozenset(found))
            found |= {one.id for one in node.targets if isinstance(one, ast.Name) and not is_loss}
    return frozenset(found)


def _is_count(node: ast.expr, counts: frozenset[str]) -> bool:
    if isinstance(node, ast.Call) and node.args:  # max(count, 1), count.clamp(min=1) and float(count)
        return _is_count(node.args[0], counts)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _is_count(node.func.value, counts)
    if isinstance(node, ast.IfExp):
        return _is_count(node.body, counts) or _is_count(node.orelse, counts)
    return isinstance(node, ast.Name) and node.id in counts


def _values(function: Function, node: ast.expr) -> Sequence[ast.expr]:
    """What an expression may be: what its variable is given in the function."""
    if not isinstance(node, ast.Name):
        return (node,)
    given = [
        one.value
        for one in own_nodes(function.node, ast.Assign)
        if any(isinstance(target, ast.Name) and target.id == node.id for target in one.targets)
        and not (isinstance(one.value, ast.BinOp) and _names(one.value) & {node.id})
    ]
    touched = [
        one
        for one in own_nodes(function.node, ast.AugAssign)
        if isinstance(one.target, ast.Name) and one.target.id == node.id and not isinstance(one.op, ast.Div)
    ]
    return () if touched else given


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def is_mean_loss(index: Index, function: Function, call: ast.Call) -> bool:
    """Whether a call is a loss that takes the mean over its targets."""
    is_of_tensor = isinstance(call.func, ast.Attribute) and call.func.attr == "mean"
    return not is_of_tensor and _mean(index, function, call, 0) is not None


def _mean(index: Index, function: Function, node: ast.expr, hops: int) -> ast.expr | None:
    """The expression that makes a mean, where this is one; None where it is not known to be."""
    match node:
        case ast.Name() if hops:
            found = [_mean(index, function, one, hops - 1) for one in _values(function, node)]
            return found[0] if found and all(found) else None
        case ast.Call(func=ast.Attribute(attr="mean"), args=[]):
            return node
        case ast.Call(func=func, keywords=words) if not _says_reduction(words):
            last = (dotted(func) or "").rpartition(".")[2]
            return node if last in MEANS or _is_criterion(index, function, func) else None
    return None


def _says_reduction(words: Sequence[ast.keyword]) -> bool:
    """Whether a call says that it takes no mean, or may."""
    for word in words:
        if word.arg in {None, "size_average", "reduce"}:
            return True
        if word.arg == "reduction":
            return not (isinstance(word.value, ast.Constant) and word.value.value == "mean")
    return False


def _is_criterion(index: Index, function: Function, func: ast.expr) -> bool:
    """Whether what is called is a loss of torch that takes the mean: made here, or in the constructor."""
    if isinstance(func, ast.Name):
        made = list(_values(function, func))
        if made and all(isinstance(one, ast.Attribute) for one in made):
            return all(_is_criterion(index, function, one) for one in made)
    elif isinstance(func, ast.Attribute) and dotted(func) == f"self.{func.attr}" and function.owner:
        made = list(_kept(index, function.owner, func.attr))
    else:
        made = [func]
    return bool(made) and all(_makes_mean(one) for one in made)


def _makes_mean(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call) or _says_reduction(node.keywords):
        return False
    path = (dotted(node.func) or "").split(".")
    is_of_torch = len(path) == 1 or path[0] in {"torch", "nn"}
    return is_of_torch and path[-1] in {
        "CrossEntropyLoss",
        "NLLLoss",
        "BCEWithLogitsLoss",
        "BCELoss",
        "MSELoss",
    }


def _kept(index: Index, owner: Class, name: str) -> Iterator[ast.expr]:
    for cls in index.lineage(owner):
        for method in cls.methods.values():
            for node in own_nodes(method.node, ast.Assign):
                if any(dotted(target) == f"self.{name}" for target in node.targets):
                    yield node.value
