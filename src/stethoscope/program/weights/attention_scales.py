"""By what the products of queries and keys are multiplied before their softmax."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from stethoscope.program.index import dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import FunctionNode, all_nodes, definitions
from stethoscope.program.weights.numbers import number
from stethoscope.run import Program, Source, Where

DEPTH = 24  # expressions looked through on the way from the softmax to the product
_QUERY = re.compile(r"\bq\b|quer|\bq_|\bxq\b|_q\b|\bqs?\d?\b", re.IGNORECASE)
_KEY = re.compile(r"\bk\b|key|\bk_|\bxk\b|_k\b|\bks?\d?\b|\bkt\b|k_?t\b", re.IGNORECASE)
_SIZE = re.compile(
    r"(?:^|_)(?:dim|d_?k|d_?head|d_?model|width|embed|hidden|channels?|head_size|n_embd|c)(?:$|_|s$)"
)
_PRODUCTS = frozenset({"matmul", "bmm", "baddbmm", "einsum"})
_BOUNDS = re.compile(r"norm|tanh|clamp|clip|cap|cosine", re.IGNORECASE)
_KEEPS = frozenset(  # what passes a size on as it is
    {
        "transpose",
        "permute",
        "view",
        "reshape",
        "contiguous",
        "to",
        "float",
        "type_as",
        "masked_fill",
        "where",
    }
    | {
        "masked_fill_",
        "half",
        "flatten",
        "unsqueeze",
        "squeeze",
        "rearrange",
        "dropout",
        "expand",
        "unflatten",
        "mT",
    }
    | {
        "repeat_interleave",
        "apply_rotary_emb",
        "type",
        "nan_to_num",
        "swapaxes",
        "add",
        "chunk",
        "split",
        "T",
    }
)


class Scale(StrEnum):
    """What the factors on a product do to its size."""

    DOWN = "down"
    UP = "up"
    NONE = "none"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, eq=False)
class Attention:
    """One softmax over products of queries and keys, and what scales these."""

    source: Source
    node: ast.expr
    scale: Scale
    factor: ast.expr | None = None

    @property
    def where(self) -> Where:
        """The address of the factor, else of the softmax."""
        return self.source.where(self.factor if self.factor is not None else self.node)


@remembered
def attentions(program: Program) -> tuple[Attention, ...]:
    """Every attention that is written out in the source."""
    return tuple(one for source in program for one in _of_source(source))


def _of_source(source: Source) -> Iterator[Attention]:
    if "softmax" not in source.text.lower() and "scaled_dot_product_attention" not in source.text:
        return
    for node in definitions(source.tree):
        owner = node if isinstance(node, ast.ClassDef) else None
        functions = node.body if isinstance(node, ast.ClassDef) else [node]
        for function in functions:
            if isinstance(function, FunctionNode) and (owner is not None or not _is_method(source, function)):
                yield from _of_function(source, function, owner)


def _is_method(source: Source, function: FunctionNode) -> bool:
    classes = all_nodes(source.tree, ast.ClassDef)
    return any(function in cls.body for cls in classes)


def _of_function(source: Source, function: FunctionNode, owner: ast.ClassDef | None) -> Iterator[Attention]:
    seen = _Reading(function, owner)
    for call in all_nodes(function, ast.Call):
        name = _called(call).lower()
        if name == "scaled_dot_product_attention":
            given = next((one.value for one in call.keywords if one.arg == "scale"), None)
            if given is not None:
                size = Scale.UNKNOWN if seen.is_bounded(call) else seen.size(given)
                yield Attention(source, call, size, given)
        elif name in {"softmax", "softmax_", "attn_softmax"}:
            scores = call.args[0] if call.args and not _is_axis(call.args[0]) else _receiver(call)
            found = seen.factors(scores, call.lineno) if scores is not None else None
            if found is not None:
                yield _judged(source, call, found, seen)


def _called(call: ast.Call) -> str:
    """The last name of what is called: `softmax` for `F.softmax(x)` and for `(a @ b).softmax(-1)`."""
    named = call.func.attr if isinstance(call.func, ast.Attribute) else dotted(call.func) or ""
    return named.rpartition(".")[2]


def _is_axis(node: ast.expr) -> bool:
    return number(node) is not None


def _receiver(call: ast.Call) -> ast.expr | None:
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def _judged(
    source: Source, call: ast.Call, found: list[tuple[ast.expr, bool] | None], seen: _Reading
) -> Attention:
    if None in found:
        return Attention(source, call, Scale.UNKNOWN)
    sizes = [(_turned(seen.size(factor), divides), factor) for factor, divides in filter(None, found)]
    kinds = {size for size, _ in sizes} - {Scale.NONE}
    if not kinds:
        return Attention(source, call, Scale.NONE)
    if kinds == {Scale.UP}:
        return Attention(source, call, Scale.UP, next(factor for size, factor in sizes if size is Scale.UP))
    return Attention(source, call, Scale.DOWN if Scale.UNKNOWN not in kinds else Scale.UNKNOWN)


def _turned(size: Scale, divides: bool) -> Scale:
    return {Scale.UP: Scale.DOWN, Scale.DOWN: Scale.UP}.get(size, size) if divides else size


class _Reading:
    """One function, with what its variables and the attributes of its class are set to."""

    def __init__(self, function: FunctionNode, owner: ast.ClassDef | None) -> None:
        self.assigned = [
            node
            for node in all_nodes(function)
            if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign)
        ]
        self.attributes: dict[str, list[ast.expr]] = {}
        for node in all_nodes(owner) if owner is not None else ():
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if isinstance(target, ast.Attribute) and dotted(target.value) == "self":
                        self.attributes.setdefault(target.attr, []).append(node.value)

    def factors(
        self, node: ast.expr, line: int, depth: int = DEPTH
    ) -> list[tuple[ast.expr, bool] | None] | None:
        """The factors on a product of queries and keys, each with whether it divides; None for no product.

        None among them stands for something that bounds or changes the size in a way that is not followed.
        """
        if depth == 0:
            return None
        match node:
            case ast.Name(id=name):
                return self._variable(name, line, depth)
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                return self._product(left, right, line, depth)
            case ast.BinOp(
                left=left, op=ast.Mult() | ast.Div() | ast.Add() | ast.Sub() as operator, right=right
            ):
                for side, other in ((left, right), (right, left)):
                    found = self.factors(side, line, depth - 1)
                    if found is not None:
                        if isinstance(operator, ast.Add | ast.Sub):
                            return found
                        return [*found, (other, isinstance(operator, ast.Div))]
            case ast.Call():
                return self._call(node, line, depth)
            case ast.Subscript(value=inner) | ast.Attribute(value=inner):
                return self.factors(inner, line, depth - 1)
        return None

    def is_bounded(self, call: ast.Call) -> bool:
        """Whether the queries or keys that a call is given were brought to a size of their own."""
        return any(None in self._on_side(side, call.lineno, DEPTH) for side in call.args[:2])

    def _call(self, node: ast.Call, line: int, depth: int) -> list[tuple[ast.expr, bool] | None] | None:
        name = _called(node)
        if name in _PRODUCTS:
            operands = node.args[1:3] if name == "einsum" else list(node.args[:2])
            if len(operands) == 1 and isinstance(node.func, ast.Attribute):
                operands = [node.func.value, operands[0]]  # q.matmul(k)
            return self._product(operands[0], operands[1], line, depth) if len(operands) == 2 else None
        inside = [*([node.func.value] if isinstance(node.func, ast.Attribute) else []), *node.args]
        for part in inside:
            found = self.factors(part, line, depth - 1)
            if found is None:
                continue
            if name in {"mul", "mul_", "div", "div_"} and node.args and part is not node.args[0]:
                return [*found, (node.args[0], name.startswith("div"))]
            return found if name in _KEEPS else [*found, None]
        return None

    def _product(
        self, left: ast.expr, right: ast.expr, line: int, depth: int
    ) -> list[tuple[ast.expr, bool] | None] | None:
        texts = ast.unparse(left), ast.unparse(right)
        is_attention = _QUERY.search(texts[0]) and _KEY.search(texts[1])
        is_attention = is_attention or (_KEY.search(texts[0]) and _QUERY.search(texts[1]))
        if not is_attention:
            return None
        return [*self._on_side(left, line, depth), *self._on_side(right, line, depth)]

    def _on_side(self, node: ast.expr, line: int, depth: int) -> list[tuple[ast.expr, bool] | None]:
        """The factors on queries or on keys, as far back as the function has them."""
        if depth <= 0:
            return [None]
        match node:
            case ast.Name(id=name):
                found: list[tuple[ast.expr, bool] | None] = []
                for assigned in self._before(name, line):
                    if isinstance(assigned, ast.AugAssign):
                        if isinstance(assigned.op, ast.Mult | ast.Div):
                            found.append((assigned.value, isinstance(assigned.op, ast.Div)))
                    elif (given := _given_to(assigned, name)) is not None:
                        found += self._on_side(given, assigned.lineno, depth - 1)
                return found
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as operator, right=right):
                inner = self._on_side(left, line, depth - 1)
                return [*inner, (right, isinstance(operator, ast.Div))]
            case ast.Call(func=func, args=args):
                name = _called(node)
                if _BOUNDS.search(name):
                    return [None]
                inside = func.value if isinstance(func, ast.Attribute) and name in _KEEPS else None
                inside = (
                    args[0] if inside is not None and dotted(inside) in {"torch", "F"} and args else inside
                )
                return self._on_side(inside, line, depth - 1) if inside is not None else []
            case ast.Subscript(value=inner_value) | ast.Attribute(value=inner_value, attr="T" | "mT"):
                return self._on_side(inner_value, line, depth - 1)
        return []

    def _variable(self, name: str, line: int, depth: int) -> list[tuple[ast.expr, bool] | None] | None:
        """What a variable held at a line: its last assignment before, with what was done to it since."""
        after: list[tuple[ast.expr, bool] | None] = []
        for assigned in self._before(name, line):
            if isinstance(assigned, ast.AugAssign):
                if isinstance(assigned.op, ast.Mult | ast.Div):
                    after.append((assigned.value, isinstance(assigned.op, ast.Div)))
                continue
            if assigned.value is None:
                return None
            found = self.factors(assigned.value, assigned.lineno, depth - 1)
            return None if found is None else [*found, *after]
        return None

    def _before(self, name: str, line: int) -> Iterator[ast.Assign | ast.AugAssign | ast.AnnAssign]:
        """The assignments to a variable above a line, the last first, down to the one that makes it."""
        for node in sorted(self.assigned, key=lambda one: -one.lineno):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
            if node.lineno < line and name in names:
                yield node
                if not isinstance(node, ast.AugAssign):
                    return

    def size(self, node: ast.expr, depth: int = 6) -> Scale:
        """Whether a factor makes larger or smaller, by how it is computed from the size of the heads."""
        value = number(node)
        if value is not None:
            return Scale.NONE if value == 1.0 else Scale.UP if value > 1.0 else Scale.DOWN
        if depth == 0:
            return Scale.UNKNOWN
        match node:
            case ast.BinOp(left=base, op=ast.Pow(), right=power) if (exponent := number(power)) is not None:
                inner = self.size(base, depth - 1)
                return inner if inner is Scale.UNKNOWN else _turned(inner, exponent < 0)
            case ast.BinOp(left=left, op=ast.Div(), right=right) if number(left) == 1.0:
                return _turned(self.size(right, depth - 1), True)
            case ast.BinOp(left=left, op=ast.FloorDiv() | ast.Div()):
                return self.size(left, depth - 1)  # the width by the heads is still a width
            case ast.BoolOp(op=ast.Or(), values=values):
                return self.size(values[-1], depth - 1)
            case (
                ast.Call(func=ast.Attribute(attr="size"), args=[*_])
                | ast.Subscript(value=ast.Attribute(attr="shape"))
            ):
                return Scale.UP
            case ast.Call(func=func, args=[only]):
                name = (dotted(func) or "").rpartition(".")[2]
                if name in {"sqrt", "float", "tensor", "int"}:
                    return self.size(only, depth - 1)
                return _turned(self.size(only, depth - 1), True) if name == "rsqrt" else Scale.UNKNOWN
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in self.attributes:
                sizes = {self._attribute(name, value, depth) for value in self.attributes[name]}
                return sizes.pop() if len(sizes) == 1 else Scale.UNKNOWN
            case ast.Attribute(attr=name) | ast.Name(id=name):
                return self._named(name, depth)
        return Scale.UNKNOWN

    def _attribute(self, name: str, value: ast.expr, depth: int) -> Scale:
        """The size of what an attribute is set to; a parameter is known by its name alone."""
        if isinstance(value, ast.Name) and value.id == name:
            return self._named(name, depth)
        return self.size(value, depth - 1)

    def _named(self, name: str, depth: int) -> Scale:
        for assigned in self.assigned:
            if isinstance(assigned, ast.Assign) and _sets_one(assigned, name):
                return self.size(assigned.value, depth - 1)
            if isinstance(assigned, ast.Assign) and _takes_a_size(assigned, name):
                return Scale.UP
        return Scale.UP if _SIZE.search(name.lower()) else Scale.UNKNOWN


def _takes_a_size(node: ast.Assign, name: str) -> bool:
    """Whether an assignment gives a variable one of a tensor's sizes: `b, t, d = x.shape`."""
    match node:
        case ast.Assign(
            targets=[ast.Tuple(elts=elements)],
            value=ast.Attribute(attr="shape") | ast.Call(func=ast.Attribute(attr="size"), args=[]),
        ):
            return any(isinstance(one, ast.Name) and one.id == name for one in elements)
    return False


def _given_to(node: ast.Assign | ast.AnnAssign, name: str) -> ast.expr | None:
    """What an assignment gives a variable: all of its value, or its own part of `q, k = norm(q), norm(k)`."""
    if _sets_one(node, name):
        return node.value
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=elements)], value=ast.Tuple(elts=values)):
            if len(elements) == len(values):
                pairs = zip(elements, values, strict=True)
                return next((v for e, v in pairs if isinstance(e, ast.Name) and e.id == name), None)
    return None


def _sets_one(node: ast.Assign | ast.AnnAssign, name: str) -> bool:
    """Whether an assignment sets just this variable, and no others beside it."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)
