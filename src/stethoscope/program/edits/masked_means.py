"""Pads left out of a mean over positions: `loss.mean()` becomes `loss[tokens != PAD].mean()`."""

from __future__ import annotations

import ast

from stethoscope.program.edits.call_edits import replaced
from stethoscope.program.edits.statements import blocks_around, is_constant
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.values import Site
from stethoscope.run import Source, Splice

MEAN = ".mean()"
# What a tensor of tokens is put through and stays the same tokens.
MOVES = frozenset({"to", "cuda", "cpu", "long", "int", "contiguous", "clone"})


def left_out_of_mean(made: Site, loss: Site, pad: ast.expr | None) -> tuple[Splice, ...]:
    """The positions that hold no pad picked out before the mean over all of them.

    `pad` is what the tokens are padded with. Only where it has a name that can be known beside the loss, the
    function is handed the tokens and nothing else, and what is averaged has a position for each of them.
    """
    source, node = loss.source, loss.node
    if not isinstance(pad, ast.Name) or "pad" not in words(pad.id) or not is_constant(made.source, pad.id):
        return ()
    written = ast.get_source_segment(source.text, node) or ""
    if not isinstance(node, ast.Call) or not written.endswith(MEAN) or not _has_positions(node):
        return ()
    tokens = _tokens(source, node)
    known = _made_known(source, made.source, pad.id) if tokens else None
    if known is None:
        return ()
    picked = replaced(source, node, f"{written.removesuffix(MEAN)}[{tokens} != {pad.id}]{MEAN}")
    return (*known, picked) if picked is not None else ()


def _has_positions(mean: ast.Call) -> bool:
    """Whether what is averaged has a second dimension: a weight for each sample is spread over it."""
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Tuple)
        and isinstance(node.slice.elts[-1], ast.Constant)
        and node.slice.elts[-1].value is None
        for node in all_nodes(mean)
    )


def _tokens(source: Source, node: ast.AST) -> str:
    """The one argument of the function around a node, "" where it has others or is made something else."""
    for block, position in blocks_around(source, node):
        function = block[position]
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        spec = function.args
        given = [one.arg for one in (*spec.posonlyargs, *spec.args) if one.arg not in ("self", "cls")]
        if len(given) != 1 or spec.kwonlyargs or spec.vararg or spec.kwarg:
            return ""
        return given[0] if _stays_itself(function, given[0]) else ""
    return ""


def _stays_itself(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
    stored = [
        node for node in all_nodes(function, ast.Name) if isinstance(node.ctx, ast.Store) and node.id == name
    ]
    moved = [
        node.targets[0]
        for node in all_nodes(function, ast.Assign)
        if len(node.targets) == 1 and _is_move(node.value, name)
    ]
    return all(any(one is target for target in moved) for one in stored)


def _is_move(value: ast.expr, name: str) -> bool:
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=held), attr=attribute)):
            return held == name and attribute in MOVES
    return False


def _made_known(source: Source, home: Source, name: str) -> tuple[Splice, ...] | None:
    """What lets a file know a name of another: nothing, or the name in an import from it that is there."""
    if source is home:
        return ()
    for statement in source.tree.body:
        if not isinstance(statement, ast.ImportFrom) or _imported(statement, source) != home.module:
            continue
        if any(alias.name == name and alias.asname is None for alias in statement.names):
            return ()
        first = statement.names[0]
        lines = source.text.split("\n")
        if first.name == "*" or not lines[first.lineno - 1].isascii():
            return None
        start = sum(len(one) + 1 for one in lines[: first.lineno - 1]) + first.col_offset
        return (Splice(source.file, start, start, f"{name}, "),)
    return None


def _imported(statement: ast.ImportFrom, source: Source) -> str:
    """The module that an import speaks of, by its whole name."""
    if not statement.level:
        return statement.module or ""
    above = source.module.split(".")[: -statement.level]
    return ".".join([*above, *([statement.module] if statement.module else [])])
