"""Softmaxes over the scores of attention that run along the queries, not along the keys."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.weights.numbers import number
from stethoscope.run import Source

DEPTH = 12
_QUERY = re.compile(r"\bq\b|quer|\bq_|\bxq\b|_q\b|\bqs?\d?\b", re.IGNORECASE)
_KEY = re.compile(r"\bk\b|key|\bk_|\bxk\b|_k\b|\bks?\d?\b|\bkt\b|k_?t\b", re.IGNORECASE)
_TURNED = re.compile(r"transpose|permute|\.m?T\b|swapaxes|\.t\(\)|rearrange")
# What leaves every axis in its place.
_KEEPING = frozenset({
    "masked_fill", "masked_fill_", "float", "to", "type_as", "mul", "mul_", "div", "div_", "add", "add_",
    "contiguous", "clamp", "where", "half",
})  # fmt: skip
# Attention that shares each key out among the queries does so on purpose.
_SHARED_OUT = re.compile(r"slot|compet|routing|assign|cluster|codebook|bidaf|co_?attention", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class AlongQueries:
    """A softmax, the axis that it runs along and the product of queries and keys before it."""

    source: Source
    softmax: ast.Call
    axis: int
    product: ast.expr


def along_queries(index: Index) -> Iterator[AlongQueries]:
    """Every softmax of attention along the queries that is the only one of its function."""
    for function in index.functions:
        source = function.source
        if is_test(source) or "softmax" not in source.text or _is_shared_out(function):
            continue
        calls = [one for one in own_nodes(function.node, ast.Call) if _last(one.func) == "softmax"]
        if len(calls) != 1:
            continue
        axis, scores = _axis(calls[0]), _scores(calls[0])
        found = _product(function, scores, DEPTH) if scores is not None and axis is not None else None
        if found is not None and axis is not None and _is_of_queries(found, axis):
            yield AlongQueries(source, calls[0], axis, found)


def _is_shared_out(function: Function) -> bool:
    """Whether keys are shared out among the queries, or the weights are made to add up afterwards."""
    named = f"{function.spoken} {function.source.file}"
    text = ast.unparse(function.node)
    return _SHARED_OUT.search(named) is not None or re.search(r"/ \(?\w+\.sum\(", text) is not None


def _last(node: ast.AST) -> str:
    return str(getattr(node, "attr", None) or getattr(node, "id", ""))


def _axis(call: ast.Call) -> int | None:
    named = next((word.value for word in call.keywords if word.arg in {"dim", "axis"}), None)
    given = named if named is not None else call.args[-1] if call.args else None
    value = number(given) if given is not None else None
    return int(value) if value is not None and value == int(value) else None


def _scores(call: ast.Call) -> ast.expr | None:
    if call.args and number(call.args[0]) is None:
        return call.args[0]
    is_method = isinstance(call.func, ast.Attribute) and dotted(call.func.value) not in {"F", "torch"}
    return call.func.value if is_method and isinstance(call.func, ast.Attribute) else None


def _product(function: Function, node: ast.expr, depth: int) -> ast.expr | None:
    """The product of queries and keys that scores are made of, every axis still in its place."""
    if depth == 0:
        return None
    match node:
        case ast.Name(id=name):
            given = [
                one.value
                for one in own_nodes(function.node, ast.Assign)
                if any(isinstance(target, ast.Name) and target.id == name for target in one.targets)
            ]
            first = min(given, key=lambda one: one.lineno, default=None)
            return _product(function, first, depth - 1) if first is not None else None
        case ast.BinOp(op=ast.MatMult()):
            return node
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() | ast.Add() | ast.Sub(), right=right):
            for side in (left, right):
                found = _product(function, side, depth - 1)
                if found is not None:
                    return found
        case ast.Call(func=ast.Attribute(value=inner), args=args):
            last = _last(node.func)
            if last in {"einsum", "matmul", "bmm"}:
                return node
            if last in _KEEPING:
                return _product(function, args[0] if dotted(inner) == "torch" and args else inner, depth - 1)
    return None


def _is_of_queries(product: ast.expr, axis: int) -> bool:
    """Whether an axis of a product counts the queries."""
    match product:
        case ast.BinOp(left=left, right=right):
            return _is_of_left(left, right, axis)
        case ast.Call(args=[ast.Constant(value=str() as formula), left, right]):
            return _is_of_letters(formula, left, right, axis)
        case ast.Call(args=[left, right]) if _last(product.func) in {"matmul", "bmm"}:
            return _is_of_left(left, right, axis)
    return False


def _is_of_left(left: ast.expr, right: ast.expr, axis: int) -> bool:
    texts = ast.unparse(left), ast.unparse(right)
    is_attention = _QUERY.search(texts[0]) and _KEY.search(texts[1]) and not _KEY.search(texts[0])
    turned = re.fullmatch(r"[\w.]+\.transpose\((\d), (\d)\)", texts[1])
    first = int(min(turned.groups())) if turned else 0  # the last two axes, so this one counts the queries
    return bool(is_attention and _TURNED.search(texts[1]) and axis in ({-2, first} if first else {-2}))


def _is_of_letters(formula: str, left: ast.expr, right: ast.expr, axis: int) -> bool:
    """`bhqe,bhke->bhqk`: the letters that only the queries have, and that stay."""
    ins, _, out = formula.replace(" ", "").partition("->")
    sides = ins.split(",")
    if len(sides) != 2 or not out or "." in formula or not -len(out) <= axis < len(out):
        return False
    texts = ast.unparse(left), ast.unparse(right)
    first, second = sides
    if _KEY.search(texts[0]) and _QUERY.search(texts[1]) and not _QUERY.search(texts[0]):
        first, second = second, first
    elif not (_QUERY.search(texts[0]) and _KEY.search(texts[1])):
        return False
    letter = out[axis]
    shared = set(first) & set(second) - set(out)
    return letter in first and letter not in second and bool(shared) and len(out) > 2
