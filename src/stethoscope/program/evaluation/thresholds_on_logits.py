"""Outputs of a network that are held against a probability although they are none yet.

A network that is trained with a loss "with logits" gives numbers without bounds; a half of them belongs to
a probability of 0.62. The outputs are followed by name, into functions that get them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.evaluation.evaluation_entries import evaluation_entries
from stethoscope.program.index import Function, Index, Module
from stethoscope.program.likenesses import words
from stethoscope.program.loop.roles import MODEL_WORDS
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.values import Site
from stethoscope.run import Source

DEPTH = 2  # functions that hand the outputs on
HALF = 0.5
WITH_LOGITS = ("BCEWithLogitsLoss", "binary_cross_entropy_with_logits")
# fmt: off
SAME = frozenset({
    "squeeze", "view", "reshape", "flatten", "float", "detach", "cpu", "cuda", "to", "unsqueeze", "numpy",
    "contiguous", "clone", "type", "permute", "transpose", "ravel",
})
# fmt: on


@dataclass(frozen=True, slots=True, eq=False)
class OnLogits:
    """The comparison with a probability, and where the network was run for it."""

    comparison: Site
    run: Site


def thresholds_on_logits(index: Index) -> Iterator[OnLogits]:
    """The comparisons of raw outputs with 0.5 in evaluations of what is trained with logits."""
    texts = [module.source.text for module in index.modules.values()]
    if not any(name in text for text in texts for name in WITH_LOGITS):
        return
    if any("discriminator" in text.lower() for text in texts):
        return  # the logits are of another network than the one that is measured
    if any(_bounds_outputs(module) for module in index.modules.values()):
        return
    for entry in evaluation_entries(index):
        start = entry.start
        nodes = list(own_nodes(start.node)) if isinstance(start, Function) else list(_own(start))
        if entry.lines:
            nodes = [node for node in nodes if _is_in(node, entry.lines)]
        outputs = dict(_outputs(nodes))
        yield from _compared(index, nodes, start.source, outputs, None, DEPTH)


def _compared(
    index: Index,
    nodes: list[ast.AST],
    source: Source,
    outputs: dict[str, ast.expr],
    run: Site | None,
    depth: int,
) -> Iterator[OnLogits]:
    halves = _halves(nodes)
    for node in nodes:
        match node:
            case ast.Compare(left=left, ops=[ast.Gt() | ast.GtE()], comparators=[right]):
                made = _made(left, outputs)
                is_half = isinstance(right, ast.Constant) and right.value == HALF
                if made is not None and (is_half or getattr(right, "id", "") in halves):
                    yield OnLogits(Site(source, node), run or Site(source, made))
            case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="round"), args=[rounded]):
                made = _made(rounded, outputs)  # so does rounding
                if made is not None:
                    yield OnLogits(Site(source, node), run or Site(source, made))
            case ast.Call(func=ast.Attribute(value=rounded, attr="round"), args=[]):
                made = _made(rounded, outputs)
                if made is not None:
                    yield OnLogits(Site(source, node), run or Site(source, made))
            case ast.Call(func=ast.Name(id=name)) if depth:
                called = index.functions_named(name)
                handed = [_made(arg, outputs) for arg in node.args]
                if len(called) != 1 or not any(handed):
                    continue
                inner = dict(_handed(called[0], handed))
                body = [*own_nodes(called[0].node), *_defaults_kept(called[0], node)]
                at = run or Site(source, node)
                yield from _compared(index, body, called[0].source, inner, at, depth - 1)


def _handed(function: Function, handed: list[ast.expr | None]) -> Iterator[tuple[str, ast.expr]]:
    for name, made in zip(function.parameters, handed, strict=False):
        stored = (n for n in own_nodes(function.node, ast.Name) if n.id == name)
        if made is not None and not any(isinstance(n.ctx, ast.Store) for n in stored):
            yield name, made


def _defaults_kept(function: Function, call: ast.Call) -> Iterator[ast.AST]:
    """`threshold=0.5` of a function, as an assignment, where a call leaves it as it is."""
    spec = function.node.args
    given = {keyword.arg for keyword in call.keywords} | set(function.parameters[: len(call.args)])
    positional = [*spec.posonlyargs, *spec.args]
    pairs = [*zip(reversed(positional), reversed(spec.defaults), strict=False)]
    pairs += [(arg, value) for arg, value in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if value]
    for arg, value in pairs:
        if arg.arg not in given:
            yield ast.Assign([ast.Name(arg.arg, ast.Store())], value)


def _halves(nodes: list[ast.AST]) -> set[str]:
    """The names that are given 0.5."""
    return {
        node.targets[0].id
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
        and node.value.value == HALF
    }


def _outputs(nodes: list[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    """The names that only ever hold what a network gives."""
    assigned: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            assigned.setdefault(node.targets[0].id, []).append(node.value)
    for name, values in assigned.items():
        made = [_made(value, {}) for value in values]
        if made[0] is not None and all(one is not None for one in made):
            yield name, made[0]


def _made(value: ast.expr, outputs: dict[str, ast.expr]) -> ast.expr | None:
    """The run of the network that a value comes from, layout aside."""
    while True:
        match value:
            case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in SAME:
                value = inner
            case ast.Subscript(value=inner):
                value = inner
            case ast.Name(id=name):
                return value if name in outputs else None
            case ast.Call(func=ast.Name(id=name)):
                return value if _is_network(name) else None
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)):
                return value if _is_network(name) else None
            case _:
                return None


def _is_network(name: str) -> bool:
    return bool(MODEL_WORDS & set(words(name)))


def _bounds_outputs(module: Module) -> bool:
    """Whether a class of a network, or the making of one, ends in probabilities."""
    for node in all_nodes(module.source.tree) if "igmoid" in module.source.text else ():
        if isinstance(node, ast.Call):
            name = str(getattr(node.func, "attr", None) or getattr(node.func, "id", ""))
            if name == "Sigmoid":
                return True
        is_forward = isinstance(node, ast.FunctionDef) and node.name in {"forward", "predict", "__call__"}
        if is_forward and "sigmoid" in ast.unparse(node):
            return True
    return False


def _own(module: Module) -> Iterator[ast.AST]:
    for statement in module.source.tree.body:
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from all_nodes(statement)


def _is_in(node: ast.AST, lines: tuple[tuple[int, int], ...]) -> bool:
    line = getattr(node, "lineno", 0)
    return any(first <= line <= last for first, last in lines)
