"""Weights that a layer rounds on their way into its product, with nothing that lets gradients past.

The gradient of a rounding is zero everywhere. Quantised layers get round it with a function of autograd of
their own, or with `w + (round(w) - w).detach()`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Function, Index, Module, dotted
from stethoscope.program.syntax import FunctionNode, all_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

ROUNDING = frozenset({"round", "floor", "ceil", "sign", "trunc", "heaviside", "round_", "sign_"})
# What takes a rounded weight into the output of a layer.
PRODUCTS = frozenset({
    "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "matmul", "mm", "bmm",
    "einsum", "embedding", "bilinear", "embedding_bag",
})  # fmt: skip
DEPTH = 3


@dataclass(frozen=True, slots=True, eq=False)
class RoundedWeight:
    """Where a weight is rounded, and where the layer takes it."""

    rounded: Site
    used: Site
    weight: str


def rounded_weights(index: Index) -> Iterator[RoundedWeight]:
    """The weights of layers that only go through a rounding, in programs that train."""
    if not any(".backward(" in source.text or "Trainer(" in source.text for source in index.program):
        return
    for cls in index.classes:
        forward = cls.methods.get("forward")
        if is_test(cls.source) or forward is None or not _has_weights(index, cls):
            continue
        module = index.module_of(cls.source)
        for call in _products(forward.node):
            for given in _last_values(forward.node, call):
                rounded = _rounds(index, module, given, DEPTH)
                weight = _weight(given)
                if rounded is not None and weight:
                    yield RoundedWeight(rounded, Site(cls.source, call), weight)


def _has_weights(index: Index, cls: Class) -> bool:
    """Whether a class is a layer with weights of its own that are not kept from learning."""
    bases = {base.rpartition(".")[2] for base in index.outside_bases(cls)}
    text = ast.unparse(cls.node)
    is_frozen = "requires_grad" in text or "register_buffer" in text
    return not is_frozen and bool(bases & {"Module", "Linear", "Conv1d", "Conv2d", "Embedding"})


def _products(function: FunctionNode) -> Iterator[ast.Call | ast.BinOp]:
    for node in all_nodes(function):
        match node:
            case ast.Call() if bare_name(node) in PRODUCTS:
                yield node
            case ast.BinOp(op=ast.MatMult()):
                yield node


def _last_values(function: FunctionNode, product: ast.Call | ast.BinOp) -> Iterator[ast.expr]:
    """What a product is given; for a name that is assigned once, what it was assigned."""
    given = product.args if isinstance(product, ast.Call) else [product.left, product.right]
    for one in given:
        made = [
            node.value
            for node in all_nodes(function, ast.Assign)
            if isinstance(one, ast.Name)
            and any(isinstance(to, ast.Name) and to.id == one.id for to in node.targets)
        ]
        value = made[0] if len(made) == 1 else one
        if not _is_scaled(value):
            yield value


def _is_scaled(value: ast.expr) -> bool:
    """`sign * self.scale`: what a scale of the layer multiplies may stay as it was drawn."""
    match value:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return any((dotted(one) or "").startswith("self.") for one in (left, right))
    return False


def _weight(value: ast.expr) -> str:
    """The weight of the layer in a value: `self.weight`, also transposed."""
    for node in all_nodes(value):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if "weight" in name or name == "w":
                return f"self.{name}"
    return ""


def _rounds(index: Index, module: Module, value: ast.expr, depth: int) -> Site | None:
    """Where a value is rounded, also by functions of the repository that it is handed to."""
    calls = all_nodes(value, ast.Call)
    if depth == 0 or any(bare_name(call) in {"detach", "apply"} for call in calls):
        return None
    for call in calls:
        target = index.resolve(module, dotted(call.func) or "")
        if isinstance(target, Function):
            found = _rounds_inside(index, target, depth - 1)
            if found is not None:
                return found
        elif bare_name(call) in ROUNDING and not _is_plain_number(call):
            return Site(module.source, call)
    return None


def _rounds_inside(index: Index, function: Function, depth: int) -> Site | None:
    """Where a function rounds what it gives back; nothing where anything in it may let gradients past."""
    node, source = function.node, function.source
    if _lets_past(node):
        return None
    returned = [one.value for one in all_nodes(node, ast.Return) if one.value is not None]
    module = index.module_of(source)
    for value in returned:
        for given in (value, *_assigned(node, value)):
            found = _rounds(index, module, given, depth)
            if found is not None:
                return found
    return None


def _assigned(function: FunctionNode, value: ast.expr) -> Iterator[ast.expr]:
    """What the names of an expression were assigned in the function."""
    names = {one.id for one in all_nodes(value, ast.Name)}
    for node in all_nodes(function):
        if isinstance(node, ast.Assign) and any(getattr(to, "id", "") in names for to in node.targets):
            yield node.value


def _lets_past(function: FunctionNode) -> bool:
    """Whether a function speaks of a way past the rounding, or is no part of training."""
    text = ast.unparse(function)
    is_spoken_of = any(word in text for word in (".apply(", "no_grad", "inference_mode", ".data", "training"))
    return is_spoken_of or any(map(_is_cut_difference, all_nodes(function)))


def _is_cut_difference(node: ast.AST) -> bool:
    """`(rounded - x).detach()`: what is added to x so, its gradient does not see."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.BinOp(op=ast.Sub()), attr="detach")):
            return True
    return False


def _is_plain_number(call: ast.Call) -> bool:
    """`round(x, 2)`: Python's own, which gives a number."""
    return isinstance(call.func, ast.Name) and call.func.id in {"round", "floor", "ceil"}
