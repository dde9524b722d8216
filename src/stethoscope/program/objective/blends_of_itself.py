"""Blends of a thing with itself: `lam * y + (1 - lam) * y` is y, whatever the share."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

AVERAGING = frozenset({"decay", "momentum", "tau", "ema", "beta", "m", "smoothing"})


@dataclass(frozen=True, slots=True, eq=False)
class BlendOfItself:
    """A sum of two shares of one thing; `averages` where the share is that of an average over steps."""

    site: Site
    share: str
    blended: str
    averages: bool


def blends_of_itself(index: Index) -> Iterator[BlendOfItself]:
    """Every sum whose two shares make one, of the same thing."""
    for function in index.bodies:
        if is_test(function.source):
            continue
        for node in own_nodes(function.node, ast.BinOp, ast.Call):
            for share, rest in _shares(node):
                blended = ast.unparse(share[1])
                if _is_rest(rest[0], share[0]) and blended == ast.unparse(rest[1]) and not _draws(share[1]):
                    told = ast.unparse(share[0])
                    is_average = bool(AVERAGING.intersection(words(told)))
                    yield BlendOfItself(Site(function.source, node), told, blended, is_average)
                    break


def _shares(node: ast.AST) -> Iterator[tuple[tuple[ast.expr, ast.expr], tuple[ast.expr, ast.expr]]]:
    """The two products of a sum, each as a share and what is shared, in every order."""
    match node:
        case ast.BinOp(
            left=ast.BinOp(op=ast.Mult()) as one, op=ast.Add(), right=ast.BinOp(op=ast.Mult()) as two
        ):
            for first, second in ((one, two), (two, one)):
                for share in ((first.left, first.right), (first.right, first.left)):
                    for rest in ((second.left, second.right), (second.right, second.left)):
                        yield share, rest


def _is_rest(rest: ast.expr, share: ast.expr) -> bool:
    """Whether one share is what the other leaves of one."""
    match rest:
        case ast.BinOp(left=ast.Constant(value=1 | 1.0), op=ast.Sub(), right=other):
            return ast.unparse(other) == ast.unparse(share)
    return False


def _draws(node: ast.expr) -> bool:
    """Whether a second look may show something else: what is drawn, or taken from an iterator."""
    called = {
        str(getattr(one.func, "attr", None) or getattr(one.func, "id", ""))
        for one in ast.walk(node)
        if isinstance(one, ast.Call)
    }
    return bool(
        called & {"next", "rand", "randn", "random", "uniform", "sample", "randint", "dropout", "pop"}
    )
