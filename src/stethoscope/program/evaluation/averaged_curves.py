"""Scores that bend the mean of a batch and are averaged then: the mean of roots is not the root of the mean.

rmse += sqrt(mse(model(x), y))         rmse / len(loader)
ppl.append(exp(loss))                  mean(ppl)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.evaluation.swapped_arguments import is_of_network
from stethoscope.program.index import External, Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.roles import LOADER_WORDS
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

# Scores of a library that no average over batches gives: each batch has counts, or an order, of its own.
OF_WHOLES = frozenset({
    "f1_score", "fbeta_score", "precision_score", "recall_score", "roc_auc_score", "average_precision_score",
    "matthews_corrcoef", "cohen_kappa_score", "balanced_accuracy_score", "r2_score", "jaccard_score",
    "explained_variance_score", "corpus_bleu", "pearsonr", "spearmanr", "kendalltau",
})  # fmt: skip
# What a loop over these hands out has all the samples of one thing, whose score is its own.
WHOLE_THINGS = frozenset({
    "series", "subject", "subjects", "patient", "patients", "user", "users", "case", "cases", "image",
    "images", "sample", "samples", "video", "videos", "files", "task", "tasks", "groups", "folds", "volumes",
    "items", "recordings", "stations",
})  # fmt: skip
LIBRARIES = ("sklearn.", "scipy.", "sacrebleu", "nltk.")
BENDING = {"sqrt": "roots", "exp": "exponentials"}
# What a batch is summed up in, by the words of its name.
MEANS = frozenset({"loss", "mse", "criterion", "mean", "nll", "ce", "entropy", "crit", "err", "error"})
AVERAGING = frozenset({"mean", "fmean", "average", "nanmean"})
BATCH_WORDS = frozenset({"batch", "batches", "loader", "dataloader", "dl"})


@dataclass(frozen=True, slots=True, eq=False)
class AveragedCurve:
    """Where a bent number is added up, where the sum is divided, and what was bent."""

    added: Site
    divided: Site
    what: str


@remembered
def averaged_curves(index: Index) -> tuple[AveragedCurve, ...]:
    """Every average over batches of a root or an exponential of a mean."""
    strides = _strides(index)
    return tuple(
        found
        for function in index.bodies
        if not is_test(function.source)
        for found in _in_function(index, function, strides)
    )


def _in_function(index: Index, function: Function, strides: frozenset[str]) -> Iterator[AveragedCurve]:
    given = {
        dotted(node.targets[0]) or "": node.value
        for node in own_nodes(function.node, ast.Assign)
        if len(node.targets) == 1
    }
    has_loaders = any("DataLoader(" in module.source.text for module in index.modules.values())
    for loop in own_nodes(function.node, ast.For):
        is_over_batches = _is_over_batches(loop, given, strides)
        if _trains(loop) or not (is_over_batches or (has_loaders and _asks_network(loop, function))):
            continue
        for node in all_nodes(loop):
            name, value = _grown(node)
            what = _bent(value, given, 2) if is_over_batches and name and value is not None else ""
            if name and value is not None and not what and _is_of_round(loop, node):
                what = _of_whole(index, function, value, given)
            divided = _divided(function, loop, name) if what else None
            if divided is not None:
                yield AveragedCurve(Site(function.source, node), Site(function.source, divided), what)
                return


def _strides(index: Index) -> frozenset[str]:
    """The generators of a program that go through rows by more than one: `for i in range(0, n, size)`."""
    return frozenset(
        function.name
        for function in index.functions
        if any(True for _ in own_nodes(function.node, ast.Yield))
        and any(
            isinstance(loop.iter, ast.Call) and bare_name(loop.iter) == "range" and len(loop.iter.args) == 3
            for loop in own_nodes(function.node, ast.For)
        )
    )


def _is_over_batches(loop: ast.For, given: dict[str, ast.expr], strides: frozenset[str]) -> bool:
    """Whether each round has a batch of several samples: of a loader, or of a range with a step."""
    over = loop.iter
    while isinstance(over, ast.Call) and bare_name(over) in {"enumerate", "tqdm", "track"} and over.args:
        over = over.args[0]
    if isinstance(over, ast.Call) and bare_name(over) == "range":
        return len(over.args) == 3
    if isinstance(over, ast.Call) and bare_name(over) in {"split", *strides}:
        return True
    made = over if isinstance(over, ast.Call) else given.get(dotted(over) or "")
    if isinstance(made, ast.Call) and bare_name(made).endswith("DataLoader"):
        return not _is_of_one(made)
    name = (dotted(over) or "").rpartition(".")[2]
    return bool((LOADER_WORDS | BATCH_WORDS).intersection(words(name)))


def _is_of_one(loader: ast.Call) -> bool:
    sizes = [word.value for word in loader.keywords if word.arg == "batch_size"]
    size = sizes[0] if sizes else loader.args[1] if len(loader.args) > 1 else None
    return size is None or (isinstance(size, ast.Constant) and size.value == 1)


def _trains(loop: ast.For) -> bool:
    return any(bare_name(call) == "backward" for call in all_nodes(loop, ast.Call))


def _grown(node: ast.AST) -> tuple[str, ast.expr | None]:
    match node:
        case ast.AugAssign(op=ast.Add(), target=target, value=value):
            return dotted(target) or "", value
        case ast.Call(func=ast.Attribute(value=held, attr="append"), args=[value]):
            return dotted(held) or "", value
    return "", None


def _asks_network(loop: ast.For, function: Function) -> bool:
    """Whether each round has a network answer inputs that come with targets, as many as a batch has."""
    is_named = isinstance(loop.iter, ast.Name | ast.Attribute) and isinstance(loop.target, ast.Tuple)
    if not is_named or WHOLE_THINGS.intersection(words(dotted(loop.iter) or "")):
        return False
    calls = [call for statement in loop.body for call in all_nodes(statement, ast.Call)]
    added = [one for one in all_nodes(loop, ast.Subscript) if getattr(one.slice, "value", one) is None]
    is_one = bool(added) or any(bare_name(call) == "unsqueeze" for call in calls)
    return not is_one and any(is_of_network(call, function) for call in calls)


def _is_of_round(loop: ast.For, node: ast.AST) -> bool:
    """Whether something is done once a round, and not once a sample in a loop inside it."""
    inner = [one for one in all_nodes(loop, ast.For, ast.comprehension) if one is not loop]
    return not any(one is node for other in inner for one in all_nodes(other))


def _of_whole(index: Index, function: Function, value: ast.expr, given: dict[str, ast.expr]) -> str:
    """The score of a library that a value is, which only all samples together have; "" otherwise."""
    while isinstance(value, ast.Subscript) or (isinstance(value, ast.Name) and value.id in given):
        value = value.value if isinstance(value, ast.Subscript) else given.get(value.id, value)
        if isinstance(value, ast.Name):
            return ""
    if not isinstance(value, ast.Call) or bare_name(value) not in OF_WHOLES:
        return ""
    if any(
        word.arg == "average" and getattr(word.value, "value", "") == "samples" for word in value.keywords
    ):
        return ""
    target = index.resolve(index.module_of(function.source), dotted(value.func) or "")
    is_library = isinstance(target, External) and target.name.startswith(LIBRARIES)
    return f"values of {bare_name(value)}" if is_library else ""


def _bent(value: ast.expr, given: dict[str, ast.expr], depth: int) -> str:
    """Say "roots" or "exponentials" where a number is one of the mean of a batch; "" otherwise."""
    match value:
        case ast.Call(func=ast.Attribute(value=inner, attr="item")):
            return _bent(inner, given, depth)
        case ast.Call(func=ast.Name(id="float"), args=[inner]):
            return _bent(inner, given, depth)
        case ast.Call() if bare_name(value) in BENDING:
            under = value.args[0] if value.args else getattr(value.func, "value", None)
            is_mean = isinstance(under, ast.expr) and _is_mean(under, given, 2)
            return BENDING[bare_name(value)] if is_mean else ""
        case ast.BinOp(op=ast.Mult(), left=left, right=right):  # by the samples of the batch
            return _bent(left, given, depth) or _bent(right, given, depth)
        case ast.BinOp(op=ast.Pow(), left=inner, right=ast.Constant(value=0.5)):
            return "roots" if _is_mean(inner, given, 2) else ""
        case ast.Name() if depth and dotted(value) in given:
            return _bent(given[dotted(value) or ""], given, depth - 1)
    return ""


def _is_mean(value: ast.expr, given: dict[str, ast.expr], depth: int) -> bool:
    """Whether a number is a mean over a batch: of a criterion, or a mean over everything."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "item":
        value = value.func.value
    if isinstance(value, ast.Name):
        held = given.get(value.id)
        if held is not None and depth:
            return _is_mean(held, given, depth - 1)
        return bool(MEANS.intersection(words(value.id)))
    if not isinstance(value, ast.Call):
        return False
    told = {word.arg for word in value.keywords}
    if told & {"dim", "axis", "reduction"} or (bare_name(value) == "mean" and value.args[1:]):
        return False
    is_method = bare_name(value) == "mean" and isinstance(value.func, ast.Attribute)
    if (
        is_method
        and value.args
        and dotted(getattr(value.func, "value", value)) not in {"torch", "np", "numpy"}
    ):
        return False
    return bool(MEANS.intersection(words(bare_name(value))))


def _divided(function: Function, loop: ast.For, name: str) -> ast.AST | None:
    """Where the sum over all rounds is made an average, behind the loop."""
    end = loop.end_lineno or loop.lineno
    for node in own_nodes(function.node, ast.BinOp, ast.Call):
        if node.lineno <= end:
            continue
        match node:
            case ast.BinOp(op=ast.Div(), left=left) if _speaks_of(left, name) and not _bends(left):
                return node
            case ast.Call() if bare_name(node) in AVERAGING and any(
                _speaks_of(one, name) for one in node.args
            ):
                return node
    return None


def _bends(node: ast.AST) -> bool:
    return any(bare_name(call) in {"log", "square"} for call in all_nodes(node, ast.Call))


def _speaks_of(node: ast.AST, name: str) -> bool:
    return any(dotted(one) == name for one in all_nodes(node))
