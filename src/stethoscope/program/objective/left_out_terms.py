"""Terms of a loss that are computed and logged, and that the minimised sum does not have."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.objective.dropped_terms import minimised_name
from stethoscope.program.syntax import FunctionNode, own_below
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

READING = frozenset({"item", "detach"})
LOGGING = frozenset({"log", "print", "add_scalar", "float"})
# A loss that is there to be looked at, or of another time or network.
OTHERS = frozenset({"val", "valid", "validation", "eval", "test", "baseline", "naive", "metric", "monitor"})
OTHERS |= {"avg", "mean", "running", "ema", "old", "prev", "best", "teacher", "total", "raw", "unweighted"}
WHOLE = frozenset({"total", "loss", "objective"})


@dataclass(frozen=True, slots=True, eq=False)
class LeftOutTerm:
    """Where a term is computed, its name, and where the sum without it is made."""

    term: Site
    name: str
    whole: Site


def left_out_terms(index: Index) -> Iterator[LeftOutTerm]:
    """The terms that are computed from what the minimised loss is computed from, and only logged."""
    for function in index.bodies:
        if is_test(function.source) or OTHERS & set(words(function.name)):
            continue
        body = function.node.body
        nodes = [node for statement in body for node in own_below(statement)]
        if any("no_grad" in ast.unparse(one) for node in nodes for one in _contexts(node)):
            continue
        given = _given(nodes)
        wholes = _wholes(function, nodes) & given.keys()
        for whole in sorted(wholes) if len(wholes) == 1 else ():
            yield from _left_out(function, nodes, given, whole)


def _left_out(
    function: Function, nodes: Sequence[ast.AST], given: dict[str, list[ast.Assign]], whole: str
) -> Iterator[LeftOutTerm]:
    sums = given[whole]
    is_alias = len(sums) == 1 and isinstance(sums[0].value, ast.Name)
    if not is_alias or any(isinstance(n, ast.AugAssign) and _names(n.target) == {whole} for n in nodes):
        return
    made = _ingredients(sums[0].value, given)
    compared = {text for one in made for text in _arguments(one.value)}
    for name, places in given.items():
        spoken = set(words(name))
        if len(places) != 1 or places[0] in made or name == whole or spoken & OTHERS:
            continue
        if not spoken & {"loss"} or isinstance(places[0].value, ast.Name | ast.Constant):
            continue
        own = _ingredients(places[0].value, given)
        is_shared = any(isinstance(one.value, ast.Call) for one in own & made)
        is_same = bool(compared & set(_arguments(places[0].value)))
        is_cut = any("detach" in ast.unparse(one.value) for one in (*own, places[0]))
        if is_shared and not is_same and not is_cut and _is_only_logged(nodes, name):
            yield LeftOutTerm(Site(function.source, places[0]), name, Site(function.source, sums[0]))


def _contexts(node: ast.AST) -> list[ast.expr]:
    return [item.context_expr for item in node.items] if isinstance(node, ast.With) else []


def _given(nodes: Sequence[ast.AST]) -> dict[str, list[ast.Assign]]:
    found: dict[str, list[ast.Assign]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign):
            for name in {name for target in node.targets for name in _names(target)}:
                found.setdefault(name, []).append(node)
    return found


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _wholes(function: Function, nodes: Sequence[ast.AST]) -> set[str]:
    """The names of what is minimised in a body."""
    found = {name for node in nodes if (name := minimised_name(node)) is not None}
    spoken = set(words(function.name))
    if found or not (function.name == "training_step" or spoken & {"loss", "losses"}):
        return found
    for node in nodes if isinstance(function.node, FunctionNode) else ():
        if isinstance(node, ast.Return) and node.value is not None:
            first = node.value.elts[0] if isinstance(node.value, ast.Tuple) else node.value
            found |= {first.id} if isinstance(first, ast.Name) and WHOLE & set(words(first.id)) else {""}
    return found


def _ingredients(value: ast.expr, given: dict[str, list[ast.Assign]]) -> set[ast.Assign]:
    """The statements that a value is made by, one after the other."""
    found: set[ast.Assign] = set()
    waiting = [value]
    while waiting:
        for name in _names(waiting.pop()):
            for one in given.get(name, ()):
                if one not in found:
                    found.add(one)
                    waiting.append(one.value)
    return found


def _arguments(value: ast.expr) -> Iterator[str]:
    """What the calls of a loss compare, as one text for each."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and len(node.args) > 1:
            yield ", ".join(sorted(map(ast.unparse, node.args[:2])))


def _is_only_logged(nodes: Sequence[ast.AST], name: str) -> bool:
    """Whether a name is read, and by nothing but what shows a number."""
    shown: set[ast.AST] = set()
    for node in nodes:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=held) as inner, attr=verb)) if held == name:
                shown |= {inner} if verb in READING else set()
            case ast.Call(args=args) if bare_name(node) in LOGGING:
                shown |= {one for one in args if isinstance(one, ast.Name)}
            case ast.FormattedValue(value=ast.Name() as inner):
                shown.add(inner)
    read = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    return bool(read) and all(node in shown for node in read)
