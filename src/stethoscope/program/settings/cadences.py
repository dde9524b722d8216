"""What a loop does every so many rounds, and never comes to do: it has fewer rounds than that."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Index, Module, dotted
from stethoscope.program.loop.fractions_for_steps import HOPS, number_told
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.declared_options import declared_options
from stethoscope.program.settings.mentions import Mentions, mentions
from stethoscope.program.settings.setting_reads import path_of
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source, Where

# What nobody wants to be left out: everything else may be for long runs only.
EVALUATING = re.compile(r"(?:^|_)(?:eval\w*|valid\w*|val|save\w*|checkpoint\w*|ckpt)(?:_|$)", re.IGNORECASE)
MOST_BOUNDS = 2  # of a range: with a third it counts in strides
FEWEST = 10  # rounds: a shorter run only tries the code out


@dataclass(frozen=True, slots=True)
class NeverDue:
    """What is done every `every` rounds of a loop of `rounds`: the condition, and what it would call."""

    where: Where
    loop: Where
    every: float
    rounds: float
    called: str


def never_due(index: Index, settings: SettingsTree) -> Iterator[NeverDue]:
    """Every evaluation or saving that is due first behind the end of its loop."""
    code = mentions(index)
    for function in index.functions:
        if not is_test(function.source):
            loops = own_nodes(function.node, ast.For)
            yield from _in(function.source, loops, index, code, settings)
    for module in index.modules.values():
        if not is_test(module.source):
            yield from _in(module.source, _own_loops(module), index, code, settings)


def _own_loops(module: Module) -> list[ast.For]:
    functions = all_nodes(module.source.tree, ast.FunctionDef)
    inside = {id(one) for node in functions for one in all_nodes(node, ast.For)}
    return [node for node in all_nodes(module.source.tree, ast.For) if id(node) not in inside]


def _in(
    source: Source, loops: Sequence[ast.For], index: Index, code: Mentions, settings: SettingsTree
) -> Iterator[NeverDue]:
    for loop in loops:
        rounds = _rounds(loop, index, code, settings)
        counter = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else loop.target
        if rounds is None or rounds < FEWEST or not isinstance(counter, ast.Name):
            continue
        for test in (node for node in ast.walk(loop) if isinstance(node, ast.If) and not node.orelse):
            every = _every(test.test, counter.id, index, code, settings)
            called = _called_for(test, source)
            if every is not None and every > rounds and called:
                yield NeverDue(source.where(test.test), source.where(loop.iter), every, rounds, called)


def _rounds(loop: ast.For, index: Index, code: Mentions, settings: SettingsTree) -> float | None:
    """The last number that a loop counts to: `range(1, steps + 1)` and `trange(epochs)`."""
    call = _unwrapped(loop.iter)
    name = _last(call.func) if isinstance(call, ast.Call) else ""
    if not isinstance(call, ast.Call) or not call.args or len(call.args) > MOST_BOUNDS:
        return None
    if name not in {"range", "trange", "islice"} or (name == "islice") != isinstance(loop.target, ast.Tuple):
        return None
    end = call.args[-1] if len(call.args) > 1 or name != "islice" else None
    if isinstance(end, ast.BinOp) and isinstance(end.op, ast.Add) and isinstance(end.right, ast.Constant):
        end = end.left
    return _number(end, index, code, settings) if end is not None else None


def _unwrapped(node: ast.expr) -> ast.expr:
    """What `tqdm(...)` shows and `enumerate(...)` counts."""
    while isinstance(node, ast.Call) and _last(node.func) in {"tqdm", "enumerate"} and node.args:
        node = node.args[0]
    return node


def _last(node: ast.expr) -> str:
    return (dotted(node) or "").rpartition(".")[2]


def _every(
    test: ast.expr, counter: str, index: Index, code: Mentions, settings: SettingsTree
) -> float | None:
    """How many rounds lie between two of which `(counter + 1) % every == 0`."""
    match test:
        case (
            ast.Compare(
                left=ast.BinOp(left=left, op=ast.Mod(), right=right),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value=0)],
            )
            | ast.UnaryOp(op=ast.Not(), operand=ast.BinOp(left=left, op=ast.Mod(), right=right))
        ):
            names = {node.id for node in ast.walk(left) if isinstance(node, ast.Name)}
            return _number(right, index, code, settings) if names == {counter} else None
        case ast.BoolOp(op=ast.And(), values=values):
            known = [_every(one, counter, index, code, settings) for one in values]
            return next((one for one in known if one is not None), None)
    return None


def _number(node: ast.expr, index: Index, code: Mentions, settings: SettingsTree) -> float | None:
    """The number of an expression: by its path in the settings, its name, or the default of its flag."""
    path = path_of(node)
    if path is not None and len(path[1]) > 1:
        found = settings.find(path[1][-2:], "config")
        if found is not None and isinstance(found[1], int | float) and not isinstance(found[1], bool):
            return float(found[1])
    known = number_told(node, code, settings, HOPS)
    if known is None and isinstance(node, ast.Attribute) and not settings.values_named(node.attr):
        return _defaults(index).get(node.attr)
    return known


@remembered
def _defaults(index: Index) -> dict[str, float]:
    """The numbers of flags and of fields of records where nobody sets them, each under a name of its own."""
    found: dict[str, list[object]] = {}
    for option in declared_options(index):
        if option.kind in {"flag", "field"}:
            found.setdefault(option.name.replace("-", "_"), []).append(option.default)
    single = {name: values[0] for name, values in found.items() if len(values) == 1}
    return {
        name: float(one)
        for name, one in single.items()
        if isinstance(one, int | float) and not isinstance(one, bool)
    }


def _called_for(test: ast.If, source: Source) -> str:
    """The evaluation or saving that is called there, and nowhere else in the file."""
    inside = {id(node) for node in ast.walk(test)}
    calls = (node for one in test.body for node in ast.walk(one) if isinstance(node, ast.Call))
    names = [_last(call.func) for call in calls]
    evaluating = _evaluating(source)
    called = [name for name in names if name in evaluating or (EVALUATING.search(name) and name != "eval")]
    others = [one for one in all_nodes(source.tree, ast.Call) if id(one) not in inside]
    elsewhere = {_last(one.func) for one in others}
    return next((name for name in called if name not in elsewhere), "")


@remembered
def _evaluating(source: Source) -> frozenset[str]:
    """The functions of a file that put a network into evaluation, whatever they are called."""
    return frozenset(
        node.name
        for node in all_nodes(source.tree, ast.FunctionDef)
        if any(
            isinstance(one.func, ast.Attribute) and one.func.attr == "eval"
            for one in own_nodes(node, ast.Call)
        )
    )
