"""Code that only measures: it stands in a function that evaluates, or where gradients are switched off."""

from __future__ import annotations

import ast

from stethoscope.program.evaluation.evaluations import EVALUATION_WORDS, TRAINING_WORDS, WITHOUT_GRADIENT
from stethoscope.program.index import dotted
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import FunctionNode, all_nodes
from stethoscope.program.walk.values import Site


def is_only_measured(site: Site) -> bool:
    """Whether no backward pass can belong to what happens at a place."""
    around = [
        node
        for node in all_nodes(site.source.tree)
        if isinstance(node, FunctionNode | ast.With) and any(one is site.node for one in all_nodes(node))
    ]
    return any(_measures(node) for node in around)


def _measures(node: ast.AST) -> bool:
    if isinstance(node, ast.With):
        return any(_is_without_gradient(item.context_expr) for item in node.items)
    if not isinstance(node, FunctionNode):
        return False
    named = set(words(node.name))
    is_evaluation = bool(named & EVALUATION_WORDS) and not named & TRAINING_WORDS
    return is_evaluation or any(map(_is_without_gradient, node.decorator_list))


def _is_without_gradient(node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else node
    return (dotted(called) or "").rpartition(".")[2] in WITHOUT_GRADIENT
