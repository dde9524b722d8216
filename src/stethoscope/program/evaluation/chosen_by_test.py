"""Weights that are chosen by the score of the test data, where data to choose by were set aside.

dev, test = loaders()
score = measure(net, test)
if score > best: save(net)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.evaluation.choosing import choosings
from stethoscope.program.evaluation.evaluations import Walk
from stethoscope.program.index import dotted
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import FunctionNode, all_nodes, own_below
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

TEST = frozenset({"test", "tst", "testing"})
TO_CHOOSE_BY = frozenset({"val", "valid", "validation", "dev", "development"})
OF_DATA = frozenset(
    {"loader", "dataloader", "dl", "iter", "iterator", "batches", "set", "dataset", "ds", "data", "split"}
)
DEPTH = 4  # names that a score is followed through


@dataclass(frozen=True, slots=True, eq=False)
class ChosenByTest:
    """The comparison with the best, what was measured on the test data for it, and what was set aside."""

    comparison: Site
    measured: Site
    set_aside: Site


def chosen_by_test(walk: Walk) -> Iterator[ChosenByTest]:
    """Every choice of the best by what names say is the test data."""
    set_aside = _set_aside(walk)
    for choosing in choosings(walk) if set_aside is not None else ():
        source = choosing.source
        around = _function_around(source.tree, choosing.comparison)
        measured = _on_test(choosing.written, around, DEPTH)
        if measured is not None and set_aside is not None:
            yield ChosenByTest(Site(source, choosing.comparison), Site(source, measured), set_aside)


def _set_aside(walk: Walk) -> Site | None:
    """The name of data to choose by: a loader or a set that the program calls after validation."""
    for module in walk.trace.run.index.modules.values():
        if is_test(module.source):
            continue
        for node in all_nodes(module.source.tree, ast.Name):
            spoken = set(words(node.id))
            if (
                isinstance(node.ctx, ast.Store)
                and spoken & TO_CHOOSE_BY
                and spoken & OF_DATA
                and not spoken & TEST
            ):
                return Site(module.source, node)
    return None


def _function_around(tree: ast.AST, node: ast.AST) -> ast.AST:
    """The innermost function that holds a node, or the file."""
    holding = [
        one
        for one in all_nodes(tree, *FunctionNode.__args__)
        if any(inner is node for inner in all_nodes(one))
    ]
    return max(holding, key=lambda one: getattr(one, "lineno", 0), default=tree)


def _on_test(value: ast.expr, around: ast.AST, depth: int) -> ast.AST | None:
    """The call that measures test data for a value; None where other data have a say in it."""
    calls = [one for one in all_nodes(value, ast.Call) if one.args]
    for call in calls:
        given = {word for arg in call.args for one in all_nodes(arg) for word in _spoken(one)}
        if given & TO_CHOOSE_BY:
            return None
        if given & TEST and given & OF_DATA:
            return call
    names = {name for one in all_nodes(value, ast.Name, ast.Attribute) if (name := dotted(one))}
    if depth == 0 or calls:
        return None
    before = [
        node
        for node in own_below(around)
        if isinstance(node, ast.Assign)
        and any(dotted(one) in names for target in node.targets for one in all_nodes(target))
    ]
    found = [
        _on_test(node.value, around, depth - 1) for node in before if not isinstance(node.value, ast.Constant)
    ]
    return found[0] if found and all(one is not None for one in found) else None


def _spoken(node: ast.AST) -> Sequence[str]:
    return (
        words(str(getattr(node, "id", getattr(node, "attr", ""))))
        if isinstance(node, ast.Name | ast.Attribute)
        else []
    )
