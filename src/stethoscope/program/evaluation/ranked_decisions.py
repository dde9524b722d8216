"""Scores of how well answers are ordered, asked about decisions: of zeros and ones there is little to order.

roc_auc_score(truth, (prob > 0.5).astype(int))
roc_auc_score(truth, logits.argmax(1))
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.evaluation.swapped_arguments import fed
from stethoscope.program.index import External, Function, Index, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

RANKING = frozenset({
    "roc_auc_score", "average_precision_score", "roc_curve", "precision_recall_curve", "det_curve",
    "label_ranking_average_precision_score", "coverage_error",
})  # fmt: skip
# What leaves decisions decisions.
CASTING = frozenset({
    "int", "long", "float", "double", "astype", "to", "cpu", "cuda", "detach", "numpy", "tolist", "squeeze",
    "view", "reshape", "flatten", "ravel", "array", "asarray", "concatenate", "cat", "hstack", "stack",
    "list", "tensor", "type", "byte", "bool", "item", "vstack", "from_numpy", "contiguous", "clone", "copy",
    "float32", "int64",
})  # fmt: skip
DECIDING = frozenset({"argmax", "round", "rint", "heaviside", "sign"})
DEPTH = 8


@dataclass(frozen=True, slots=True, eq=False)
class RankedDecisions:
    """Where a score of an order is asked, its name, and where the answers were decided."""

    asked: Site
    decided: Site
    score: str


@remembered
def ranked_decisions(index: Index) -> tuple[RankedDecisions, ...]:
    """Every score of scikit-learn on an order that is given decisions."""
    return tuple(
        found
        for function in index.bodies
        if not is_test(function.source)
        for found in _in_function(index, function)
    )


def _in_function(index: Index, function: Function) -> Iterator[RankedDecisions]:
    calls = [
        (one, name) for one in own_nodes(function.node, ast.Call) if (name := _ranking(index, function, one))
    ]
    if not calls:
        return
    given: dict[str, list[ast.expr]] = {}
    for node in own_nodes(function.node):
        for name, value in fed(node):
            given.setdefault(name, []).append(value)
    for call, score in calls:
        told = {word.arg: word.value for word in call.keywords}
        answers = call.args[1] if len(call.args) > 1 else told.get("y_score", told.get("probas_pred"))
        decided = _decided(answers, given, DEPTH) if answers is not None else None
        if decided is not None:
            yield RankedDecisions(Site(function.source, call), Site(function.source, decided), score)


def _ranking(index: Index, function: Function, call: ast.Call) -> str:
    """The score of scikit-learn that a call asks for; "" for others."""
    target = index.resolve(index.module_of(function.source), dotted(call.func) or "")
    home, _, name = target.name.rpartition(".") if isinstance(target, External) else ("", "", "")
    return name if home.startswith("sklearn") and name in RANKING else ""


def _decided(value: ast.expr, given: dict[str, list[ast.expr]], depth: int) -> ast.AST | None:
    """Where something was decided that is made of decisions alone; None where it may be anything else."""
    if depth == 0:
        return None
    match value:
        case ast.Compare(ops=[ast.Gt() | ast.GtE() | ast.Lt() | ast.LtE()]):
            return value
        case ast.Call() if bare_name(value) == "where" and len(value.args) == 3:
            is_hard = all(isinstance(one, ast.Constant) and one.value in (0, 1) for one in value.args[1:])
            return value if is_hard else None
        case ast.Call() if bare_name(value) in DECIDING:
            # `round(prob, 4)` only shortens what is written.
            return value if bare_name(value) == "argmax" or not _is_told_digits(value) else None
        case ast.Call() if bare_name(value) in CASTING:
            is_method = isinstance(value.func, ast.Attribute) and dotted(value.func.value) not in {
                "np",
                "numpy",
                "torch",
            }
            inner = (
                value.func.value
                if is_method and isinstance(value.func, ast.Attribute)
                else next(iter(value.args), None)
            )
            return _decided(inner, given, depth - 1) if inner is not None else None
        case ast.List(elts=[]):
            return None
        case ast.List(elts=[inner]) | ast.ListComp(elt=inner):
            return _decided(inner, given, depth - 1)
        case ast.Name() | ast.Attribute():
            filled = [one for one in given.get(dotted(value) or "", []) if not _is_empty(one)]
            others = [one for one in filled if not _is_cast_of(one, dotted(value) or "")]
            found = [_decided(one, given, depth - 1) for one in others]
            return found[0] if found and all(one is not None for one in found) else None
    return None


def _is_told_digits(call: ast.Call) -> bool:
    is_method = isinstance(call.func, ast.Attribute) and dotted(call.func.value) not in {
        "np",
        "numpy",
        "torch",
    }
    return len(call.args) > (0 if is_method else 1) or bool(call.keywords)


def _is_empty(value: ast.expr) -> bool:
    """`[]`, in which answers are gathered."""
    return isinstance(value, ast.List) and not value.elts


def _is_cast_of(value: ast.expr, name: str) -> bool:
    """`guess = np.concatenate(guess)`: the same under the same name."""
    return (
        isinstance(value, ast.Call)
        and any(dotted(one) == name for one in (*value.args, value.func))
        and (bare_name(value) in CASTING)
    )
