"""Scores that are asked the wrong way round: `r2_score(predicted, true)`, where the truth comes first.

What is a prediction is told by where it comes from, an answer of the network, or by its name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import External, Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

# fmt: off
# Scores that come out otherwise where their two sides are exchanged, by the library; the truth comes first.
TRUTH_FIRST = {
    "sklearn": frozenset({
        "r2_score", "explained_variance_score", "mean_absolute_percentage_error", "precision_score",
        "recall_score", "precision_recall_fscore_support", "roc_auc_score", "average_precision_score",
        "log_loss", "brier_score_loss", "classification_report", "balanced_accuracy_score", "fbeta_score",
        "top_k_accuracy_score", "d2_absolute_error_score",
    }),
    "seqeval": frozenset({"precision_score", "recall_score", "classification_report"}),
    "jiwer": frozenset({"wer", "cer", "mer", "wil"}),
}
TRUTH_SECOND = {
    "torchmetrics.functional": frozenset({
        "r2_score", "explained_variance", "mean_absolute_percentage_error", "precision", "recall", "auroc",
        "average_precision", "binary_precision", "binary_recall", "multiclass_precision",
        "multiclass_recall", "word_error_rate", "char_error_rate",
    }),
}
ANSWERS = frozenset({
    "pred", "preds", "prediction", "predictions", "predicted", "guess", "guesses", "guessed", "hat", "yhat",
    "output",
    "outputs", "logit", "logits", "prob", "probs", "probability", "probabilities", "forecast", "forecasts",
    "estimate", "estimated", "hyp", "hyps", "hypothesis", "hypotheses", "proba", "answers", "score", "scores",
})
TRUTHS = frozenset({
    "true", "truth", "truths", "target", "targets", "label", "labels", "gt", "gold", "actual", "actuals",
    "ytrue", "reference", "references", "ref", "refs", "real", "expected",
})
# fmt: on
NETWORKS = frozenset(
    {"model", "net", "network", "forward", "predict", "predictor", "classifier", "regressor"}
)
GROWING = frozenset({"append", "extend"})
PLACED = 2  # sides that are given by their places
NAMED_SIDES = (("y_true", "y_pred"), ("y_true", "y_score"), ("target", "preds"), ("reference", "hypothesis"))


@dataclass(frozen=True, slots=True, eq=False)
class SwappedArguments:
    """Where a score is asked the wrong way round, its name, and which side is the prediction."""

    site: Site
    score: str
    answer: str


@remembered
def swapped_arguments(index: Index) -> tuple[SwappedArguments, ...]:
    """Every score of a library whose prediction stands where the truth belongs."""
    return tuple(
        found
        for function in index.bodies
        if not is_test(function.source)
        for found in _in_function(index, function)
    )


def _in_function(index: Index, function: Function) -> Iterator[SwappedArguments]:
    calls = [(call, sides) for call in own_nodes(function.node, ast.Call) if (sides := _sides(call))]
    asked = [
        (call, sides, is_first)
        for call, sides in calls
        if (is_first := _truth_first(index, function, call)) is not None
    ]
    if not asked:
        return
    answered, known = _answered(function)
    for call, (first, second), truth_first in asked:
        by_name = len(call.args) < PLACED
        answer, truth = (first, second) if truth_first or by_name else (second, first)
        is_swapped = _is_answer(answer, answered, function) and _is_truth(
            truth, answered, known, answer, function
        )
        if is_swapped:
            yield SwappedArguments(Site(function.source, call), bare_name(call), ast.unparse(answer))


def _sides(call: ast.Call) -> tuple[ast.expr, ast.expr] | None:
    """What stands where the truth belongs and where the prediction does; by place, as they are written."""
    if len(call.args) >= PLACED:
        return call.args[0], call.args[1]
    told = {word.arg: word.value for word in call.keywords}
    for truth, answer in NAMED_SIDES:
        if truth in told and answer in told:
            return told[truth], told[answer]
    return None


def _truth_first(index: Index, function: Function, call: ast.Call) -> bool | None:
    """Whether the truth is the first argument of a score; None where a call is no such score."""
    target = index.resolve(index.module_of(function.source), dotted(call.func) or "")
    if not isinstance(target, External):
        return None
    for homes, is_first in ((TRUTH_FIRST, True), (TRUTH_SECOND, False)):
        for home, names in homes.items():
            if target.name.startswith(f"{home}.") and target.name.rpartition(".")[2] in names:
                return is_first
    return None


def _answered(function: Function) -> tuple[set[str], set[str]]:
    """The names that hold answers of a network, through lists and conversions, and all that are filled."""
    filled = [(name, value) for node in own_nodes(function.node) for name, value in fed(node)]
    answered = set(_handed_out(function))
    for _ in filled:
        more = {name for name, value in filled if _comes_from_network(value, answered, function)} - answered
        if not more:
            break
        answered |= more
    return answered, {*(name for name, _ in filled), *function.parameters}


def _handed_out(function: Function) -> Iterator[str]:
    """The answers in what a trainer hands to its metric: `logits, labels = eval_pred`."""
    names = [name for name in function.parameters if name not in {"self", "cls"}]
    if len(names) != 1 or "metric" not in function.name:
        return
    for node in own_nodes(function.node, ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=[ast.Name(id=first), _])], value=ast.Name(id=given)) if (
                given == names[0]
            ):
                yield first
            case ast.Assign(targets=[ast.Name(id=first)], value=ast.Attribute(attr="predictions")):
                yield first


def fed(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """What a statement puts into which name: by assigning, adding or appending."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            yield from (
                (name, value) for one, value in zip(targets, values, strict=False) if (name := dotted(one))
            )
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                for one in target.elts if isinstance(target, ast.Tuple) else [target]:
                    if name := dotted(one):
                        yield name, value
        case ast.For(target=ast.Tuple(elts=targets), iter=ast.Call(func=ast.Name(id="zip"), args=over)):
            yield from (
                (name, value) for one, value in zip(targets, over, strict=False) if (name := dotted(one))
            )
        case ast.AugAssign(target=target, value=value) if name := dotted(target):
            yield name, value
        case ast.Call(func=ast.Attribute(value=held, attr=attr), args=[value, *_]) if attr in GROWING:
            if name := dotted(held):
                yield name, value


def _comes_from_network(value: ast.expr, answered: set[str], function: Function) -> bool:
    for one in all_nodes(value):
        if isinstance(one, ast.Call) and is_of_network(one, function):
            return True
        if isinstance(one, ast.Name | ast.Attribute) and dotted(one) in answered:
            return True
    return False


def is_of_network(call: ast.Call, function: Function) -> bool:
    """Whether a call asks a network: by its name, or as what the file switches to training or evaluation."""
    return bool(NETWORKS.intersection(words(bare_name(call)))) or dotted(call.func) in _switched(function)


def _switched(function: Function) -> set[str | None]:
    """What a function puts into evaluation or training mode: `net.eval()`."""
    calls = own_nodes(function.node, ast.Call)
    held = [call.func for call in calls if isinstance(call.func, ast.Attribute) and not call.args]
    return {dotted(one.value) for one in held if one.attr in {"eval", "train"}} - {None}


def _is_answer(side: ast.expr, answered: set[str], function: Function) -> bool:
    spoken = _spoken(side)
    is_named = bool(spoken & ANSWERS and not spoken & TRUTHS)
    return is_named or _comes_from_network(side, answered, function)


def _is_truth(
    side: ast.expr, answered: set[str], known: set[str], answer: ast.expr, function: Function
) -> bool:
    spoken = _spoken(side)
    if _comes_from_network(side, answered, function) or spoken & ANSWERS:
        return False
    if spoken & TRUTHS:
        return True
    # Not named for what it is: then both sides must be seen filled, and the other by the network.
    names = {dotted(one) for one in all_nodes(side) if isinstance(one, ast.Name | ast.Attribute)}
    return bool(names & known) and _comes_from_network(answer, answered, function)


def _spoken(side: ast.expr) -> set[str]:
    named = [one.id for one in all_nodes(side, ast.Name)]
    named += [one.attr for one in all_nodes(side, ast.Attribute)]
    return {word for name in named for word in words(name)}
