"""Focal losses whose weight is largest for the samples that are already right.

The weight of a sample is `(1 - p) ** gamma`, with `p` the probability of its own class.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

_LOGARITHM = re.compile(r"\bce\b|_ce\b|\bbce|cross_entropy|\bnll|log|loss", re.IGNORECASE)
_FOCAL = re.compile(r"focal|gamma", re.IGNORECASE)
FOCUS = frozenset({"gamma", "focusing", "focus"})


@dataclass(frozen=True, slots=True, eq=False)
class TurnedFocus:
    """The power of a probability that weighs its own logarithm."""

    source: Source
    weight: ast.BinOp


def turned_focuses(index: Index) -> Iterator[TurnedFocus]:
    """Every weight `p ** gamma` of a loss, where p is the probability of the right answer."""
    # Asked of each file once: it has many functions.
    speaking = {id(source) for source in index.program if not is_test(source) and _FOCAL.search(source.text)}
    for function in index.functions:
        if id(function.source) not in speaking:
            continue
        for node in own_nodes(function.node, ast.BinOp):
            weight = _weight(node)
            if weight is not None and _is_own_probability(function, weight.left):
                yield TurnedFocus(function.source, weight)
                break


def _weight(node: ast.BinOp) -> ast.BinOp | None:
    """`p ** gamma` in a product with a cross entropy or a logarithm."""
    if not isinstance(node.op, ast.Mult):
        return None
    factors = list(_factors(node))
    powers = [one for one in factors if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Pow)]
    others = [one for one in factors if one not in powers]
    is_loss = any(_LOGARITHM.search(ast.unparse(one)) for one in others)
    if len(powers) != 1 or not is_loss or not FOCUS & _spoken(powers[0].right):
        return None
    return powers[0]


def _factors(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            yield from _factors(left)
            yield from _factors(right)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            yield from _factors(inner)
        case _:
            yield node


def _spoken(node: ast.expr) -> set[str]:
    name = str(getattr(node, "attr", None) or getattr(node, "id", ""))
    return set(words(name))


def _is_own_probability(function: Function, base: ast.expr) -> bool:
    """A name for `exp(-cross_entropy)`, or for `p` where the label is one and `1 - p` where it is not."""
    if not isinstance(base, ast.Name):
        return _is_exponential(base)
    given = [
        one.value
        for one in own_nodes(function.node, ast.Assign)
        if any(isinstance(target, ast.Name) and target.id == base.id for target in one.targets)
    ]
    if len(given) != 1:
        return False
    return _is_exponential(given[0]) or _is_chosen(given[0])


def _is_exponential(node: ast.expr) -> bool:
    """`torch.exp(-ce)` and `(-ce).exp()`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="exp"), args=[ast.UnaryOp(op=ast.USub(), operand=inner)]):
            return _LOGARITHM.search(ast.unparse(inner)) is not None
        case ast.Call(
            func=ast.Attribute(value=ast.UnaryOp(op=ast.USub(), operand=inner), attr="exp"), args=[]
        ):
            return _LOGARITHM.search(ast.unparse(inner)) is not None
    return False


def _is_chosen(node: ast.expr) -> bool:
    """`p * y + (1 - p) * (1 - y)`, `torch.where(y == 1, p, 1 - p)`."""
    match node:
        case ast.BinOp(
            op=ast.Add(),
            left=ast.BinOp(op=ast.Mult(), left=first, right=label),
            right=ast.BinOp(op=ast.Mult(), left=second, right=other),
        ):
            pair = {ast.unparse(first), ast.unparse(label)}
            return {ast.unparse(second), ast.unparse(other)} == {f"1 - {one}" for one in pair}
        case ast.Call(func=ast.Attribute(attr="where"), args=[asked, first, second]):
            is_one = re.search(r"== 1\b|> 0|\.bool\(\)", ast.unparse(asked)) is not None
            return is_one and ast.unparse(second) == f"1 - {ast.unparse(first)}"
    return False
