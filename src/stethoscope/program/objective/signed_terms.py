"""The terms of a loss as a function writes it, each with the sign that it is minimised with.

Names lead to what they are given, lists to what is appended to them, functions of the program to what they
return. Sums are taken apart; means, sums over a batch and plain weights keep a sign.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import own_nodes

DEPTH = 14
# What a value goes through without a change of sign.
PASSING = frozenset({
    "mean", "sum", "stack", "cat", "squeeze", "unsqueeze", "flatten", "view", "reshape", "float", "nanmean",
    "to", "masked_mean", "item", "contiguous", "min", "max", "minimum", "maximum",
})  # fmt: skip

WEIGHTS = frozenset({
    "coef", "coeff", "coefficient", "weight", "weights", "beta", "lambda", "lam", "lambd", "alpha", "scale",
    "vf", "ent", "w", "c", "c1", "c2", "factor",
})  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """One term: where it is written, in which function, and the sign with which it is minimised."""

    function: Function
    node: ast.expr
    sign: int


def minimised_terms(index: Index, function: Function) -> Iterator[tuple[ast.Call, list[Term]]]:
    """The terms of each value that a function takes a backward pass of."""
    if "backward(" not in function.source.text:
        return
    for call in own_nodes(function.node, ast.Call):
        loss = _loss(call)
        if loss is not None:
            yield call, list(terms(index, function, loss, 1, DEPTH))


def _loss(call: ast.Call) -> ast.expr | None:
    """`loss.backward()`, `scaler.scale(loss).backward()`, `accelerator.backward(loss)`."""
    match call.func:
        case ast.Attribute(value=ast.Call(func=ast.Attribute(attr="scale"), args=[loss]), attr="backward"):
            return loss
        case ast.Attribute(value=loss, attr="backward") if not call.args:
            return loss
        case ast.Attribute(attr="backward" | "manual_backward") if call.args:
            return call.args[0]
    return None


def terms(index: Index, function: Function, node: ast.expr, sign: int, depth: int) -> Iterator[Term]:
    """The terms of an expression."""
    if depth == 0:
        return
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from terms(index, function, left, sign, depth - 1)
            yield from terms(index, function, right, sign, depth - 1)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            yield from terms(index, function, left, sign, depth - 1)
            yield from terms(index, function, right, -sign, depth - 1)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            yield from terms(index, function, inner, -sign, depth - 1)
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            yield from _of_product(index, function, node, left, right, sign, depth)
        case ast.BinOp(op=ast.Div(), left=left):
            yield from terms(index, function, left, sign, depth - 1)
        case ast.Name(id=name):
            yield from _of_name(index, function, node, name, sign, depth)
        case ast.Call():
            yield from _of_call(index, function, node, sign, depth)
        case ast.Attribute(value=ast.Name(id="self")) | ast.Constant():
            return
        case _:
            yield Term(function, node, sign)


def _of_product(
    index: Index,
    function: Function,
    node: ast.expr,
    left: ast.expr,
    right: ast.expr,
    sign: int,
    depth: int,
) -> Iterator[Term]:
    """A term with a weight, or a product of two things that are computed."""
    for weight, inner in ((left, right), (right, left)):
        number = _number(weight)
        if number is not None:
            yield from terms(index, function, inner, sign if number > 0 else -sign, depth - 1)
            return
    if isinstance(left, ast.UnaryOp) and isinstance(left.op, ast.USub):
        yield from terms(index, function, ast.BinOp(left.operand, ast.Mult(), right), -sign, depth - 1)
        return
    for weight, inner in ((left, right), (right, left)):
        if WEIGHTS.intersection(words((dotted(weight) or "").rpartition(".")[2])):
            yield from terms(index, function, inner, sign, depth - 1)
            return
    yield Term(function, node, sign)


def _number(node: ast.expr) -> float | None:
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -float(value)
    return None


def _of_name(
    index: Index, function: Function, node: ast.Name, name: str, sign: int, depth: int
) -> Iterator[Term]:
    given = assigned(function, name)
    appended = _appended(function, name)
    if len(given) == 1 and not appended and ast.unparse(given[0]) != name:
        yield from terms(index, function, given[0], sign, depth - 1)
    elif appended and len(given) == 1:
        for one in appended:
            yield from terms(index, function, one, sign, depth - 1)
    else:
        yield Term(function, node, sign)


def assigned(function: Function, name: str) -> list[ast.expr]:
    """What a name is given in a function; names that are unpacked from a call have no value of their own."""
    found: list[ast.expr] = []
    for node in own_nodes(function.node):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id == name:
                    found.append(node.value)
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = zip(target.elts, node.value.elts, strict=False)
                    found += [v for t, v in pairs if isinstance(t, ast.Name) and t.id == name]
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            found += [node.value, node.value]  # more than one thing
    return found


def _appended(function: Function, name: str) -> list[ast.expr]:
    return [
        call.args[0]
        for call in own_nodes(function.node, ast.Call)
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == "append"
        and dotted(call.func.value) == name
        and call.args
    ]


def _of_call(index: Index, function: Function, call: ast.Call, sign: int, depth: int) -> Iterator[Term]:
    last = str(getattr(call.func, "attr", None) or getattr(call.func, "id", ""))
    if last in PASSING:
        is_method = isinstance(call.func, ast.Attribute) and dotted(call.func.value) not in {"torch", "np"}
        if is_method and isinstance(call.func, ast.Attribute):
            yield from terms(index, function, call.func.value, sign, depth - 1)
        for one in call.args if not is_method or last in {"min", "max", "minimum", "maximum"} else ():
            if not isinstance(one, ast.Constant):
                yield from terms(index, function, one, sign, depth - 1)
        return
    here = index.functions_named(last)
    returns = [node.value for node in own_nodes(here[0].node, ast.Return)] if len(here) == 1 else []
    if len(returns) == 1 and returns[0] is not None and not isinstance(returns[0], ast.Tuple):
        yield from terms(index, here[0], returns[0], sign, depth - 1)
        return
    yield Term(function, call, sign)
