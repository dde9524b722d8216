"""A regression of a denoised output turned towards the data, each noise level counting alike."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.edits.call_edits import replaced
from stethoscope.program.edits.statements import is_name_chain
from stethoscope.program.syntax import FunctionNode, all_nodes
from stethoscope.program.walk.values import Site
from stethoscope.run import Splice

_RANDOM = ("randn", "randn_like", "normal", "normal_")


def towards_the_data(compared: Site, target: str) -> tuple[Splice, ...]:
    """Both sides of a comparison divided by the noise level, and the data in the place of the target.

    Empty where the lines that make the noisy input, data plus level times noise, are not seen beside it.
    """
    sides = _sides(compared.node)
    scope = _function_around(compared)
    if sides is None or scope is None:
        return ()
    targets = [side for side in sides if ast.unparse(side) == target or _is_bound_to(side, target, scope)]
    corruptions = set(_corruptions(scope))
    if len(targets) != 1 or len(corruptions) != 1:
        return ()
    ((data, level),) = corruptions
    output = next(side for side in sides if side is not targets[0])
    splices = (
        replaced(compared.source, output, f"{_in_brackets(output)} / {level}"),
        replaced(compared.source, targets[0], f"{data} / {level}"),
    )
    return tuple(one for one in splices if one is not None) if None not in splices else ()


def _sides(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    match node:
        case ast.Call(args=[left, right, *_]) | ast.BinOp(left=left, op=ast.Sub(), right=right):
            return left, right
    return None


def _function_around(site: Site) -> ast.AST | None:
    """The innermost function that holds a place, or the whole file."""
    line = getattr(site.node, "lineno", 0)
    around = [
        node
        for node in all_nodes(site.source.tree)
        if isinstance(node, FunctionNode) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(around, key=lambda node: node.lineno, default=site.source.tree)


def _is_bound_to(side: ast.expr, target: str, scope: ast.AST) -> bool:
    """Whether a name was last given what the target is."""
    return isinstance(side, ast.Name) and any(
        isinstance(node, ast.Assign)
        and any(isinstance(one, ast.Name) and one.id == side.id for one in node.targets)
        and ast.unparse(node.value) == _tidy(target)
        for node in all_nodes(scope)
    )


def _tidy(text: str) -> str:
    try:
        return ast.unparse(ast.parse(text.strip(), mode="eval"))
    except SyntaxError:
        return text


def _corruptions(scope: ast.AST) -> Iterator[tuple[str, str]]:
    """The data and the level of every `data + level * noise`; a level that scales the data too is no such."""
    noises = {
        target.id
        for node in all_nodes(scope, ast.Assign)
        if _is_random(node.value, set())
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in all_nodes(scope):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)):
            continue
        for data, added in ((node.left, node.right), (node.right, node.left)):
            if not (is_name_chain(data) and isinstance(added, ast.BinOp) and isinstance(added.op, ast.Mult)):
                continue
            for level, noise in ((added.left, added.right), (added.right, added.left)):
                if _is_random(noise, noises) and not _is_random(level, noises):
                    yield ast.unparse(data), _in_brackets(level)


def _is_random(node: ast.expr, noises: set[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in noises
    if not isinstance(node, ast.Call):
        return False
    return ast.unparse(node.func).rpartition(".")[2] in _RANDOM


def _in_brackets(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript) else f"({text})"
