"""Metrics of a Trainer that count the places whose labels say that they do not count.

Collators fill labels up with -100, and a loss passes over them. `compute_metrics` gets them as they are.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.evaluation.unshifted_answers import IGNORED, is_ignored_label, metrics, reached
from stethoscope.program.index import Function, Index
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

FILLING = re.compile(r"DataCollatorFor(?:TokenClassification|LanguageModeling|Seq2Seq|CompletionOnlyLM)\(")
SPOKEN = re.compile(r"(?i)mask|ignore|pad|valid|special|decode")


@dataclass(frozen=True, slots=True, eq=False)
class CountedIgnored:
    """Where a metric compares all places, and what fills labels up."""

    compared: Site
    filled: Site


def counted_ignored(index: Index) -> Iterator[CountedIgnored]:
    """The metrics that leave no label out, in programs whose labels are filled up."""
    filled = next(_filled(index), None)
    for module in index.modules.values() if filled is not None else ():
        if is_test(module.source) or "compute_metrics" not in module.source.text:
            continue
        for functions in metrics(index, module):
            nodes = [node for function in functions for node in reached(index, function)]
            chosen = any(isinstance(one, ast.Call) and bare_name(one) == "argmax" for one in nodes)
            compared = next((one for one in nodes if _compares(one)), None)
            if not chosen or compared is None or any(map(_leaves_out, nodes)) or filled is None:
                continue
            yield CountedIgnored(Site(functions[0].source, compared), filled)


def _filled(index: Index) -> Iterator[Site]:
    """What makes labels of places that do not count."""
    for module in index.modules.values():
        if is_test(module.source):
            continue
        for call in all_nodes(module.source.tree, ast.Call) if FILLING.search(module.source.text) else ():
            if FILLING.match(f"{bare_name(call)}("):
                yield Site(module.source, call)
    for function in index.functions:
        if "labels" in function.source.text and "compute_metrics" not in function.name:
            yield from _marked(function)


def _marked(function: Function) -> Iterator[Site]:
    """`labels.append(-100)`: several labels of one sample, not a class that is missing."""
    for node in all_nodes(function.node, ast.Call):
        is_append = isinstance(node.func, ast.Attribute) and node.func.attr == "append"
        if is_append and any(is_ignored_label(one) for one in node.args):
            yield Site(function.source, node)


def _compares(node: ast.AST) -> bool:
    match node:
        case ast.Compare(
            ops=[ast.Eq()], comparators=[ast.Name() | ast.Subscript() | ast.Attribute() as other]
        ):
            return "label" in ast.unparse(node).lower() or "label" in ast.unparse(other).lower()
        case ast.Call():
            told = {word.arg for word in node.keywords}
            return {"predictions", "references"} <= told or bare_name(node).endswith("_score")
    return False


def _leaves_out(node: ast.AST) -> bool:
    """Whether something speaks of places that do not count: -100, a mask, `labels >= 0`."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=number)):
            return number == IGNORED
        case ast.Compare(ops=[ast.GtE() | ast.Gt() | ast.NotEq()]):
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str() as name):
            return bool(SPOKEN.search(name))
    return False
