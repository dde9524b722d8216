"""Numbers that should move bit by bit to their end, and are there after one round.

`eps = min(eps_end, eps * decay)` where eps begins above its end: the smaller of the two is the end at once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.settings.said_numbers import said
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

RAMPS = frozenset({"warm", "warmup", "ramp", "rampup", "anneal", "annealing", "kl"})
PICKING = {"min": min, "max": max, "minimum": min, "maximum": max}


@dataclass(frozen=True, slots=True, eq=False)
class SpentAtOnce:
    """Where a number is moved, what it begins with, and the end that it is at after one round."""

    source: Source
    node: ast.Assign | ast.Call
    name: str
    begins: float
    end: float


def spent_at_once(index: Index) -> Iterator[SpentAtOnce]:
    """The numbers of a program that are at their end after the first round."""
    for function in index.bodies:
        if is_test(function.source):
            continue
        for node in own_nodes(function.node, ast.Assign):
            match node:
                case ast.Assign(targets=[target], value=ast.Call(args=[one, other]) as call):
                    name, picked = dotted(target) or "", PICKING.get(bare_name(call))
                    if name and picked is not None:
                        yield from _judged(index, function, node, name, (one, other))


def stands_at_its_end(index: Index) -> Iterator[SpentAtOnce]:
    """`max(1.0, (epoch + 1) / rounds)`: a ramp that is at its end from the first round on, and goes on."""
    for function in index.bodies:
        if is_test(function.source):
            continue
        for loop in own_nodes(function.node, ast.For):
            counter = dotted(loop.target) or ""
            bent = {id(one) for node in all_nodes(loop) for part in _bent(node) for one in ast.walk(part)}
            for call in all_nodes(loop, ast.Call) if counter else ():
                is_share = bare_name(call) in {"max", "maximum"} and len(call.args) == 2
                if is_share and id(call) not in bent and _is_said_to_ramp(call):
                    yield from _of_ramp(function, call, counter)


def _bent(node: ast.AST) -> list[ast.expr]:
    """What is divided by, or goes through a root or a power, as where a rate falls behind its warm-up."""
    match node:
        case ast.BinOp(op=ast.Div() | ast.Pow(), left=left, right=right):
            return [right] if isinstance(node.op, ast.Div) else [left, right]
        case ast.Call() if bare_name(node) in {"sqrt", "rsqrt", "pow", "log", "exp", "print"}:
            return node.args
    return []


def _is_said_to_ramp(call: ast.Call) -> bool:
    """Whether names speak of a warm-up or of annealing; a weight may well grow on and on."""
    return any(RAMPS & set(words(dotted(one) or "")) for one in ast.walk(call))


def _of_ramp(function: Function, call: ast.Call, counter: str) -> Iterator[SpentAtOnce]:
    for end, rising in (call.args, call.args[::-1]):
        match end, rising:
            case ast.Constant(value=1 | 1.0), ast.BinOp(op=ast.Div(), left=left, right=right):
                counted = {dotted(one) for one in ast.walk(left)}
                if counter in counted and counter not in {dotted(one) for one in ast.walk(right)}:
                    yield SpentAtOnce(function.source, call, ast.unparse(rising), 0.0, 1.0)


def _judged(
    index: Index, function: Function, node: ast.Assign, name: str, sides: tuple[ast.expr, ast.expr]
) -> Iterator[SpentAtOnce]:
    moved = [(side, one) for side in sides if (one := _step(side, name)) is not None]
    ends = [side for side in sides if name not in {dotted(one) for one in ast.walk(side)}]
    if len(moved) != 1 or len(ends) != 1 or not isinstance(node.value, ast.Call):
        return
    step = said(index, function, moved[0][1]).number
    end = said(index, function, ends[0]).number
    begins = _first(index, function, node, name)
    if step is None or end is None or begins is None or begins == end:
        return
    pick = PICKING[bare_name(node.value)]
    is_product = isinstance(getattr(moved[0][0], "op", None), ast.Mult)
    sign = -1 if isinstance(getattr(moved[0][0], "op", None), ast.Sub) else 1
    there = begins * step if is_product else begins + sign * step
    is_on_its_way = abs(there - end) < abs(begins - end) and (there - end) * (begins - end) > 0
    if is_on_its_way and pick(there, end) == end:
        yield SpentAtOnce(function.source, node, name, begins, end)


def _step(side: ast.expr, name: str) -> ast.expr | None:
    """What a number is multiplied with, or what is added to it or taken from it."""
    match side:
        case ast.BinOp(left=left, op=ast.Mult() | ast.Add() | ast.Sub(), right=right) if dotted(left) == name:
            return right
        case ast.BinOp(left=left, op=ast.Mult() | ast.Add(), right=right) if dotted(right) == name:
            return left
    return None


def _first(index: Index, function: Function, moved: ast.Assign, name: str) -> float | None:
    """What a number begins with, where one other assignment says it."""
    owner = function.owner if name.startswith("self.") else None
    bodies = owner.methods.values() if owner is not None else (function,)
    given = [
        (body, node.value)
        for body in bodies
        for node in own_nodes(body.node, ast.Assign)
        if node is not moved and any(dotted(target) == name for target in node.targets)
    ]
    return said(index, given[0][0], given[0][1]).number if len(given) == 1 else None
