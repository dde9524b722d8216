"""Arrays whose rows belong together and that are each picked by a draw of their own.

return [part[rng.integers(0, n, size)] for part in (self.states, self.actions, self.rewards)]
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.data.parted_pairs import PartedPair, are_pair
from stethoscope.program.index import Function, Index
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

DRAWING = frozenset({"randint", "integers", "choice", "choices", "randperm", "permutation", "sample"})
PAIR = 2
MANY = 3  # arrays picked by draws that are written alike belong together, whatever they are called


@remembered
def drawn_each(index: Index) -> tuple[PartedPair, ...]:
    """Every set of arrays of which each is picked by its own draw."""
    return tuple(
        pair
        for function in index.bodies
        if not is_test(function.source)
        for pair in (*_in_comprehensions(function), *_side_by_side(function))
    )


def _in_comprehensions(function: Function) -> Iterator[PartedPair]:
    for node in own_nodes(function.node, ast.DictComp, ast.ListComp, ast.GeneratorExp):
        if isinstance(node, ast.DictComp):
            yield from _each(function, node.value, node.generators[0])
        elif isinstance(node, ast.ListComp | ast.GeneratorExp):
            yield from _each(function, node.elt, node.generators[0])


def _each(function: Function, element: ast.expr, loop: ast.comprehension) -> Iterator[PartedPair]:
    """The picks of a comprehension over arrays that are listed, or kept together by an object."""
    names = _arrays(loop.iter)
    targets = {one.id for one in all_nodes(loop.target, ast.Name)}
    for pick in all_nodes(element, ast.Subscript) if names else ():
        is_array = isinstance(pick.value, ast.Name) and pick.value.id in targets
        # A draw that asks each array for its length is of arrays that do not belong together.
        own = targets & {one.id for one in all_nodes(pick.slice, ast.Name)}
        if is_array and not own and names and _draws_many(pick.slice):
            yield PartedPair(Site(function.source, pick), Site(function.source, loop.iter), names)


def _arrays(over: ast.expr) -> tuple[str, str] | None:
    if isinstance(over, ast.Tuple | ast.List) and len(over.elts) >= PAIR:
        return ast.unparse(over.elts[0]), ast.unparse(over.elts[1])
    if isinstance(over, ast.Attribute) and getattr(over.value, "id", "") == "self":
        return f"each of {ast.unparse(over)}", "the others"
    return None


def _side_by_side(function: Function) -> Iterator[PartedPair]:
    """`self.s[randint(n)], self.a[randint(n)], self.r[randint(n)]`."""
    picks: dict[str, list[ast.Subscript]] = {}
    for node in own_nodes(function.node, ast.Subscript):
        if isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Call) and _draws(node.slice):
            picks.setdefault(ast.unparse(node.slice), []).append(node)
    for alike in picks.values():
        named = {ast.unparse(one.value): one for one in alike}
        first, *others = named
        pair = next((one for one in others if len(named) >= MANY or are_pair(first, one)), None)
        if pair is not None:
            yield PartedPair(
                Site(function.source, named[first]), Site(function.source, named[pair]), (first, pair)
            )


def _draws_many(place: ast.expr) -> bool:
    """Whether rows for a whole batch are drawn: with a bound and a size."""
    calls = [one for one in all_nodes(place, ast.Call) if bare_name(one) in DRAWING]
    return _draws(place) and any(len(one.args) + len(one.keywords) >= PAIR for one in calls)


def _draws(place: ast.expr) -> bool:
    """Whether places are drawn right here, and not by a generator that each draw begins anew."""
    calls = all_nodes(place, ast.Call)
    seeded = any(bare_name(one) in {"default_rng", "RandomState", "Random"} for one in calls)
    return any(bare_name(one) in DRAWING for one in calls) and not seeded
