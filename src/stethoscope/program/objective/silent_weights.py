"""Weights of a loss that are counted up with the rounds of training, and are zero in every round."""

from __future__ import annotations

import ast

from stethoscope.program.index import Index
from stethoscope.program.objective.probe import operands_of, score
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.values import Applied, Constant, Delayed, Leaf, Site, Value

# Where nothing tells how many rounds there are: what is zero in all of these was not meant to begin late.
ROUNDS = (*range(64), 100, 200, 500, 1_000, 10_000, 100_000)
MOST_ROUNDS = 64


def silent_weight(index: Index, term: Value, sink: Site) -> Site | None:
    """Where a term is multiplied with a number that depends on the round, and is never anything but zero."""
    if not (isinstance(term, Applied) and term.callee in {"*", ".mul"} and len(term.args) == 2):
        return None
    for scale, inner in (term.args, term.args[::-1]):
        if not isinstance(scale, Applied | Delayed) or isinstance(inner, Constant):
            continue
        operands = operands_of(index, scale)
        if operands and all(isinstance(one, Leaf) and one.name == "index" for one in operands):
            numbers = [score(index, scale, operands, [float(at)] * len(operands)) for at in _rounds(sink)]
            if not any(number is None or number for number in numbers):
                return scale.site
    return None


def _rounds(sink: Site) -> tuple[int, ...]:
    """The rounds of the one counting loop around a backward pass; a wide choice where they are not known."""
    line = getattr(sink.node, "lineno", 0)
    counting = [
        node
        for node in all_nodes(sink.source.tree, ast.For)
        if node.lineno < line <= (node.end_lineno or 0) and _counts(node.iter)
    ]
    if len(counting) != 1:
        return ROUNDS
    match counting[0].iter:
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int() as count)]) if count > 1:
            return tuple(sorted({count * at // MOST_ROUNDS for at in range(MOST_ROUNDS)} | {count - 1}))
    return ROUNDS


def _counts(iterable: ast.expr) -> bool:
    """`range(...)`, `enumerate(...)`, and what is wrapped around them."""
    names = {node.id for node in all_nodes(iterable, ast.Name)}
    return bool(names & {"range", "enumerate", "trange", "count"})
