"""Statistics that data sets are told to normalise by, where those for evaluation are others."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from stethoscope.program.evaluation.evaluations import DATA_WORDS, TRAINING_WORDS
from stethoscope.program.index import Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

# fmt: off
STATISTICS = frozenset({
    "stats", "statistics", "normalize", "normalise", "normalization", "normalisation", "mean", "std",
})
COMPUTING = frozenset({"mean", "std", "normalize", "normalise"})  # of what is called itself, along an axis
MADE_UP = frozenset({"zeros", "ones", "full", "zeros_like", "ones_like", "full_like"})
# fmt: on


@dataclass(frozen=True, slots=True, eq=False)
class ToldApart:
    """A data set of training and one of evaluation that are told other statistics, or only one any."""

    trained: Site
    judged: Site
    is_told_nothing: bool = False


@remembered
def told_apart(index: Index) -> tuple[ToldApart, ...]:
    """Every function that tells its data sets statistics, those for evaluation not of training's making."""
    known = (function for function in index.functions if not is_test(function.source))
    return tuple(found for function in known if (found := _in_function(function)) is not None)


def _in_function(function: Function) -> ToldApart | None:
    calls = [
        (node, node.func)
        for node in own_nodes(function.node, ast.Call)
        if isinstance(node.func, ast.Attribute)
        and STATISTICS.intersection(words(node.func.attr))
        and node.func.attr not in COMPUTING
        and node.args
    ]
    for judged, how in calls:
        for trained, method in calls:
            if method.attr != how.attr or not DATA_WORDS & _words(how.value):
                continue
            ours, theirs = [list(map(ast.unparse, call.args)) for call in (trained, judged)]
            is_other = ours != theirs and any(map(_is_of_its_own, judged.args))
            if is_other and TRAINING_WORDS & _words(method.value):
                return ToldApart(Site(function.source, trained), Site(function.source, judged))
    return None


def _is_of_its_own(arg: ast.expr) -> bool:
    """Whether a statistic is made up in its place, or taken from what is held out."""
    if TRAINING_WORDS & _words(arg):
        return False
    is_number = isinstance(arg, ast.Constant) and isinstance(arg.value, int | float)
    calls = (node for node in all_nodes(arg, ast.Call))
    made_up = any(str(getattr(call.func, "attr", "")) in MADE_UP for call in calls)
    return is_number or made_up or bool(DATA_WORDS & _words(arg))


def _words(node: ast.AST) -> set[str]:
    names = (getattr(inner, "id", getattr(inner, "attr", None)) for inner in all_nodes(node))
    return {word for name in names if isinstance(name, str) for word in words(name)}
