"""Where evaluation begins: functions by their name or role, and the evaluating parts of training loops."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeGuard

from stethoscope.program.index import Function, Index, Module, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.effects import effects
from stethoscope.program.walk.entries import is_test

# fmt: off
EVALUATION_WORDS = frozenset({
    "validate", "validation", "valid", "val", "evaluate", "evaluation", "eval", "test", "testing",
    "benchmark", "score",
})
OTHER_NAMES = frozenset({
    "sample", "samples", "preview", "demo", "visualize", "visualise", "plot", "save", "draw", "show",
    "images", "generate", "train", "training", "fit", "action", "actions",
})
# fmt: on


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationEntry:
    """A place where evaluation begins; `lines` limit it to a part of a function that also trains."""

    start: Function | Module
    lines: tuple[tuple[int, int], ...] = ()


@lru_cache(maxsize=4)
def evaluation_entries(names: Index) -> list[EvaluationEntry]:
    """The functions that evaluate by their name or role, and the evaluating parts of training loops."""
    training = effects(names).minimising
    found: list[EvaluationEntry] = []
    for function in names.functions:
        if is_test(function.source):
            continue
        if function in training:
            regions = _evaluating_lines(list(own_nodes(function.node)))
            if regions:
                found.append(EvaluationEntry(function, regions))
        elif evaluates(function) and not OTHER_NAMES.intersection(words(function.name)):
            found.append(EvaluationEntry(function))
    for module in names.modules.values():
        regions = _evaluating_lines(list(_own_statements(module)))
        if regions:
            found.append(EvaluationEntry(module, regions))
    # Functions that say so by name know best what they hand on.
    return sorted(found, key=lambda entry: not _is_named_evaluation(entry))


def _is_named_evaluation(entry: EvaluationEntry) -> bool:
    return isinstance(entry.start, Function) and bool(EVALUATION_WORDS.intersection(words(entry.start.name)))


@lru_cache(maxsize=4096)
def evaluates(function: Function) -> bool:
    """Whether a function evaluates by its name, or because it asks for no gradients or for eval mode."""
    if EVALUATION_WORDS.intersection(words(function.name)):
        return True
    if any(name.endswith(("no_grad", "inference_mode")) for name in function.decorators):
        return True
    return any(
        _is_without_gradient(node) or _is_eval_call(node)
        for node in own_nodes(function.node, ast.With, ast.Call)
    )


def _is_without_gradient(node: ast.AST) -> bool:
    if not isinstance(node, ast.With):
        return False
    calls_made = (item.context_expr for item in node.items)
    names = (dotted(c.func if isinstance(c, ast.Call) else c) or "" for c in calls_made)
    return any(name.endswith(("no_grad", "inference_mode")) for name in names)


def _is_eval_call(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "eval"
        and not node.args
    )


def _evaluating_lines(nodes: list[ast.AST]) -> tuple[tuple[int, int], ...]:
    """The lines of blocks without gradient, and of loops over validation data."""
    return tuple((node.lineno, node.end_lineno or node.lineno) for node in nodes if _is_evaluating(node))


def _is_evaluating(node: ast.AST) -> TypeGuard[ast.With | ast.For]:
    return _is_without_gradient(node) or (isinstance(node, ast.For) and _is_over_validation(node.iter))


def _is_over_validation(iterable: ast.expr) -> bool:
    names = {
        name
        for node in all_nodes(iterable)
        if isinstance(node, ast.Name | ast.Attribute)
        for name in _words_of(node)
    }
    return bool(names & {"val", "valid", "validation", "test", "eval", "dev"})


def _words_of(node: ast.Name | ast.Attribute) -> tuple[str, ...]:
    return words(node.id if isinstance(node, ast.Name) else node.attr)


def _own_statements(module: Module) -> Iterator[ast.AST]:
    waiting: list[ast.AST] = [module.source.tree]
    while waiting:
        node = waiting.pop()
        yield node
        for block in ("body", "orelse", "finalbody", "handlers"):
            waiting.extend(
                child
                for child in getattr(node, block, ())
                if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            )
