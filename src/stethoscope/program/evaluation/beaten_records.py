"""Conditions that a score beats the best one so far, and what happens only where they hold.

if score < self.record:                   if score >= self.record:
    self.record = score                       return
    save(model)                           self.record = score
                                          save(model)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stethoscope.program.evaluation.cut_short import ShortCut
from stethoscope.program.evaluation.evaluations import names_in
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Event, Scope
from stethoscope.program.walk.values import Applied, Choice, Value

# fmt: off
BEST_WORDS = frozenset({
    "best", "lowest", "highest", "min", "minimum", "max", "maximum", "record", "smallest", "optimal",
})
# fmt: on
COMPARISONS = frozenset({"<", ">", "<=", ">=", "=="})


def conditions(event: Event, ways: Sequence[ShortCut], place: dict[int, int]) -> Iterator[Scope]:
    """The conditions that an event is under, nearest first: around it, or of a jump that would skip it."""
    yield from (scope for scope in event.scopes() if scope.kind == "if")
    here = place[id(event)]
    for way in reversed(ways):
        if place[id(way.jump)] < here and way.skips(event) and not way.excludes(event):
            yield next(scope for scope in way.jump.scopes() if scope.kind == "if")


def beaten(scope: Scope) -> tuple[Applied, Value, ast.expr] | None:
    """The comparison that a condition makes with the best so far: it, the score, and how that is written."""
    for value in _conjuncts(scope.value):
        if not isinstance(value, Applied) or value.callee not in COMPARISONS or len(value.args) != 2:
            continue
        node = value.site.node
        if not isinstance(node, ast.Compare) or len(node.comparators) != 1:
            continue
        sides = ((node.left, value.args[0]), (node.comparators[0], value.args[1]))
        best = [bool(_words_of(side) & BEST_WORDS) for side, _ in sides]
        if best.count(True) != 1:
            best = [
                _is_replaced(scope, side, other)
                for side, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left))
            ]
        if best.count(True) == 1:
            written, metric = sides[best.index(False)]
            return value, metric, written
    return None


def _conjuncts(value: Value | None) -> Iterator[Value]:
    if isinstance(value, Applied) and value.callee in {"and", "or", "not", ".item", "bool"}:
        for arg in value.args:
            yield from _conjuncts(arg)
    elif isinstance(value, Choice):
        for option in value.options:
            yield from _conjuncts(option)
    elif value is not None:
        yield value


def _words_of(node: ast.AST) -> set[str]:
    return {word for name in names_in(node) for word in words(name)}


def _is_replaced(scope: Scope, record: ast.expr, score: ast.expr) -> bool:
    """Whether the function around puts the one side in the place of the other: `self.low = loss`."""
    if not isinstance(record, ast.Name | ast.Attribute | ast.Subscript):
        return False
    around = next((outer.node for outer in scope.outwards() if outer.kind == "call"), scope.source.tree)
    kept, given = ast.unparse(record), ast.unparse(score)
    for node in all_nodes(around):
        if isinstance(node, ast.Assign):
            for target, value in _pairs(node):
                if ast.unparse(target) == kept and ast.unparse(value) == given:
                    return True
    return False


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is put where, also as an element: `champion = (score, weights)` sets `champion[0]`."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        elif isinstance(node.value, ast.Tuple | ast.List):
            for position, element in enumerate(node.value.elts):
                yield ast.Subscript(target, ast.Constant(position), ast.Load()), element
        else:
            yield target, node.value
