"""What operators give: arithmetic, comparisons, `and`, `or`, `if ... else`, and values in a text."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING

from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.arithmetic import fold_binary, fold_compare, truth
from stethoscope.program.walk.frames import Frame
from stethoscope.program.walk.values import Applied, Constant, Leaf, Site, Value, choice

if TYPE_CHECKING:
    from stethoscope.program.walk.execution import Execution


def binary(run: Execution, op: ast.operator, left: Value, right: Value, site: Site) -> Value:
    """`left + right` and the like."""
    folded = fold_binary(op, left, right, site)
    if isinstance(folded, Applied) and folded.callee == "-":
        run.note(folded)
    return folded


def compared(run: Execution, node: ast.Compare, frame: Frame) -> Value:
    """`a < b == c`."""
    left = run.evaluate(node.left, frame)
    results: list[Value] = []
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        right = run.evaluate(right_node, frame)
        result = fold_compare(op, left, right, Site(frame.module.source, node))
        if isinstance(result, Applied) and result.callee == "==":
            run.note(result)
        results.append(result)
        left = right
    return results[0] if len(results) == 1 else boolean(ast.And(), results, node, frame)


def boolean(op: ast.boolop, values: list[Value], node: ast.expr, frame: Frame) -> Value:
    """`a and b`, `a or b`."""
    wanted = isinstance(op, ast.Or)
    kept: list[Value] = []
    for value in values:
        known = truth(value)
        if known is wanted:
            return value if not kept else choice(*kept, value)
        if known is None:
            kept.append(value)
    if not kept:
        return values[-1]
    if wanted:  # `x or default`
        return choice(*kept)
    return Applied("and", tuple(kept), {}, Site(frame.module.source, node))


def either(run: Execution, test: ast.expr, body: ast.expr, orelse: ast.expr, frame: Frame) -> Value:
    """`body if test else orelse`."""
    tested = run.evaluate(test, frame)
    known = truth(tested)
    if run.tracing and is_about_resuming(test):
        with run.inside("if", test, frame, tested):
            resumed = run.evaluate(body, frame)
        with run.inside("if", test, frame, tested, False):
            return choice(resumed, run.evaluate(orelse, frame))
    if known is not None:
        return run.evaluate(body if known else orelse, frame)
    return choice(run.evaluate(body, frame), run.evaluate(orelse, frame))


def joined_text(run: Execution, values: list[ast.expr], frame: Frame) -> Value:
    """`f"{a} and {b}"`."""
    pieces = [run.evaluate(value, frame) for value in values]
    if all(isinstance(piece, Constant) for piece in pieces):
        return Constant("".join(str(piece.value) for piece in pieces if isinstance(piece, Constant)))
    return Leaf("text")


@lru_cache(maxsize=4096)
def is_about_resuming(test: ast.expr) -> bool:
    """Whether a condition asks for a resume: off by default, and yet a way that a run goes."""
    texts = (
        getattr(n, "id", None) or getattr(n, "attr", None) or getattr(n, "value", "") for n in all_nodes(test)
    )
    return any(isinstance(text, str) and "resum" in text.lower() for text in texts)
