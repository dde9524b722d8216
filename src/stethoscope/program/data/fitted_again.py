"""Objects of the program that take the statistics of training data, and those of held-out data as well."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.data.told_statistics import ToldApart
from stethoscope.program.data.unscaled_siblings import SCALERS
from stethoscope.program.evaluation.evaluations import DATA_WORDS, TRAINING_WORDS
from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

DEVIATIONS = frozenset({"std", "var", "std_mean", "var_mean", "quantile", "nanstd"})


@remembered
def fitted_again(index: Index) -> tuple[ToldApart, ...]:
    """Every object that one file fits to training data and to held-out data, under one name."""
    fitting = {function.name for function in index.functions if _takes_statistics(function)}
    found = list(_by_libraries(index))
    for module in index.modules.values():
        text = module.source.text
        if is_test(module.source) or not any(text.count(f".{name}(") > 1 for name in fitting):
            continue
        calls = [
            (node, node.func.attr, ast.unparse(node.func.value).rpartition(".")[2])
            for node in all_nodes(module.source.tree, ast.Call)
            if isinstance(node.func, ast.Attribute) and len(node.args) == 1
            if node.func.attr in fitting and isinstance(node.func.value, ast.Name | ast.Attribute)
        ]
        for judged, method, name in calls:
            said = _words(judged.args[0])
            if (
                name in {"self", "cls"}
                or name[:1].isupper()
                or not said & DATA_WORDS
                or said & TRAINING_WORDS
            ):
                continue
            for trained, other_method, other in calls:
                told = _words(trained.args[0])
                is_training = bool(told & TRAINING_WORDS) and not told & DATA_WORDS
                if (other_method, other) == (method, name) and is_training:
                    found.append(ToldApart(Site(module.source, trained), Site(module.source, judged)))
                    break
    return tuple(found)


def _by_libraries(index: Index) -> Iterator[ToldApart]:
    """Scalers of a library that are fitted to training data, and again to what is held out."""
    for module in index.modules.values():
        source = module.source
        if is_test(source) or source.text.count(".fit") < 2 or not any(one in source.text for one in SCALERS):
            continue
        calls = [
            (node, kind)
            for node in all_nodes(source.tree, ast.Call)
            if isinstance(node.func, ast.Attribute) and node.func.attr in {"fit", "fit_transform"}
            if node.args and (kind := _scaler(source.tree, node.func.value)).endswith(SCALERS)
        ]
        for judged, kind in calls:
            said = _words(judged.args[0])
            trained = (one for one, other in calls if other == kind and _is_training(_words(one.args[0])))
            first = next(trained, None)
            if said & DATA_WORDS and not said & TRAINING_WORDS and first is not None:
                yield ToldApart(Site(source, first), Site(source, judged))


def _is_training(said: set[str]) -> bool:
    return bool(said & TRAINING_WORDS) and not said & DATA_WORDS


def _scaler(tree: ast.Module, receiver: ast.expr) -> str:
    """The class of what is fitted: called on the spot, or kept under a name that is given nothing else."""
    if isinstance(receiver, ast.Call):
        return bare_name(receiver)
    name = dotted(receiver)
    kinds = {
        bare_name(value) if isinstance(value, ast.Call) else ""
        for node in all_nodes(tree, ast.Assign)
        for target, value in _pairs(node)
        if dotted(target) == name
    }
    return kinds.pop() if name and len(kinds) == 1 else ""


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        else:
            yield target, node.value


def _takes_statistics(function: Function) -> bool:
    """Whether a method keeps the deviation of what it is given: `self.std.copy_(rows.std(0))`."""
    if function.owner is None or len(function.parameters) != 2 or function.name.startswith("__"):
        return False
    if {"classmethod", "staticmethod"} & set(function.decorators) or "fit" not in words(function.name):
        return False
    return any(
        isinstance(node, ast.Call) and getattr(node.func, "attr", "") in DEVIATIONS
        for node in own_nodes(function.node)
    )


def _words(node: ast.AST) -> set[str]:
    names = (getattr(inner, "id", getattr(inner, "attr", None)) for inner in all_nodes(node))
    return {word for name in names if isinstance(name, str) for word in words(name)}
