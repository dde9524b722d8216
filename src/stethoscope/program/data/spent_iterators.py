"""Iterators that are made once and gone through in every round: from the second round on they are empty.

held = batches(x, y)                    a generator, `zip`, `map`, `iter`
for epoch in range(9):
    for a, b in held: ...               nothing comes any more after the first epoch
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

ONE_SHOT = frozenset({"iter", "zip", "map", "filter", "enumerate", "reversed"})
WRAPPING = frozenset({"enumerate", "tqdm", "zip", "list", "tuple", "track", "sorted", "sum", "islice"})


@dataclass(frozen=True, slots=True, eq=False)
class SpentIterator:
    """Where an iterator is made, where every round goes through it, and whether it is trained on."""

    made: Site
    used: Site
    name: str
    trains: bool


@remembered
def spent_iterators(index: Index) -> tuple[SpentIterator, ...]:
    """Every iterator that the first round of a loop uses up."""
    return tuple(
        one
        for function in index.bodies
        if not is_test(function.source)
        for one in _in_function(index, function)
    )


def _in_function(index: Index, function: Function) -> Iterator[SpentIterator]:
    loops: list[ast.For | ast.While] = [
        *own_nodes(function.node, ast.For),
        *own_nodes(function.node, ast.While),
    ]
    inside = {id(one): loop for loop in loops for one in all_nodes(loop) if one is not loop}
    stores = [one for one in own_nodes(function.node, ast.Name) if isinstance(one.ctx, ast.Store)]
    for made in own_nodes(function.node, ast.Assign):
        target = made.targets[0]
        if id(made) in inside or not isinstance(target, ast.Name) or not _is_one_shot(index, made.value):
            continue
        if sum(one.id == target.id for one in stores) > 1:
            continue
        for loop in loops:
            used = (
                _used_up(index, loop, target.id) if loop.lineno > made.lineno and _goes_round(loop) else None
            )
            if used is not None:
                site = Site(function.source, made)
                yield SpentIterator(site, Site(function.source, used), target.id, _trains(used))
                break


def _is_one_shot(index: Index, value: ast.expr) -> bool:
    """A generator, or what goes through something once; none that begins again or never ends."""
    if isinstance(value, ast.GeneratorExp):
        return True
    if not isinstance(value, ast.Call):
        return False
    if isinstance(value.func, ast.Name) and value.func.id in ONE_SHOT:
        return not any(bare_name(one) in {"cycle", "repeat", "count"} for one in all_nodes(value, ast.Call))
    named = index.functions_named(bare_name(value))
    if len(named) != 1 or named[0].decorators:
        return False
    yields = own_nodes(named[0].node, ast.Yield, ast.YieldFrom)
    endless = [one for one in own_nodes(named[0].node, ast.While) if isinstance(one.test, ast.Constant)]
    return bool(yields) and not endless


def _goes_round(loop: ast.For | ast.While) -> bool:
    """Whether a loop has several rounds: none that is left at the end of its first one."""
    return not isinstance(loop.body[-1], ast.Break | ast.Return)


def _used_up(index: Index, loop: ast.For | ast.While, name: str) -> ast.AST | None:
    """What goes through all of an iterator in each round; None where nothing does, or only through a part."""
    for node in _in_each_round(loop.body):
        match node:
            case ast.For(iter=over) if _is_over(over, name):
                return None if _may_stop(node) else node
            case ast.ListComp(generators=[first, *_]) | ast.GeneratorExp(generators=[first, *_]):
                if _is_over(first.iter, name):
                    return node
            case ast.Call() if _hands_to_a_loop(index, node, name):
                return node
    return None


def _in_each_round(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """What a loop does again and again: of what stands under a condition only what comes every so often."""
    for statement in body:
        is_periodic = any(
            isinstance(one, ast.Mod) for one in all_nodes(getattr(statement, "test", statement))
        )
        if isinstance(statement, ast.If) and not is_periodic:
            continue
        blocks = [getattr(statement, name, []) for name in ("body", "orelse")]
        if any(blocks):
            yield statement
            yield from (one for block in blocks for one in _in_each_round(block))
            yield from (
                one
                for part in ast.iter_child_nodes(statement)
                if isinstance(part, ast.expr)
                for one in all_nodes(part)
            )
        else:
            yield from all_nodes(statement)


def _is_over(over: ast.expr, name: str) -> bool:
    while isinstance(over, ast.Call) and bare_name(over) in WRAPPING - {"zip", "islice"} and over.args:
        over = over.args[0]
    return isinstance(over, ast.Name) and over.id == name


def _may_stop(loop: ast.For) -> bool:
    """Whether a loop may leave some for the next round."""
    return any(True for statement in loop.body for _ in all_nodes(statement, ast.Break, ast.Return))


def _hands_to_a_loop(index: Index, call: ast.Call, name: str) -> bool:
    """`evaluate(net, held)`, of a function of the program that goes through what it gets."""
    named = index.functions_named(bare_name(call)) if bare_name(call) else []
    if len(named) != 1:
        return False
    function = named[0]
    parameters = [one for one in function.parameters if one not in {"self", "cls"}]
    placed = [
        *zip(parameters, call.args, strict=False),
        *((str(word.arg), word.value) for word in call.keywords),
    ]
    given = {parameter for parameter, value in placed if dotted(value) == name}
    over = own_nodes(function.node, ast.For)
    return any(_is_over(one.iter, parameter) and not _may_stop(one) for one in over for parameter in given)


def _trains(used: ast.AST) -> bool:
    calls: Sequence[ast.Call] = all_nodes(used, ast.Call)
    return any(bare_name(one) == "backward" for one in calls)
