"""Weights that are moved by hand, with gradients that nothing clears.

Read off the statements: a loop with a backward pass and `p.data.add_(p.grad, alpha=-lr)`, in a file that
speaks of clearing nowhere.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Index
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

# Everything that may clear, and gradients that are handed out anew instead of being added up.
_CLEARS = re.compile(
    r"zero_grad|\.grad\b[^=\n]*\.zero_\(|\.grad\s*=[^=]|autograd\.grad|\bgrad\(|zero_\(|fill_\(0"
)
MOVING = frozenset({"add_", "sub_", "addcdiv_", "addcmul_", "copy_"})


@dataclass(frozen=True, slots=True, eq=False)
class HandUpdate:
    """Where weights are moved by hand, and the backward pass whose gradients add up."""

    update: Site
    backward: Site


def uncleared_updates(index: Index) -> Iterator[HandUpdate]:
    """The updates by hand in loops whose file clears no gradients."""
    for module in index.modules.values():
        source = module.source
        if is_test(source) or ".grad" not in source.text or _CLEARS.search(source.text):
            continue
        for loop in all_nodes(source.tree):
            if not isinstance(loop, ast.For | ast.While):
                continue
            backward = next((one for one in all_nodes(loop) if _is_backward(one)), None)
            update = next((one for one in all_nodes(loop) if _moves_weights(one)), None)
            if backward is not None and update is not None:
                yield HandUpdate(Site(source, update), Site(source, backward))
                break


def _is_backward(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and bare_name(node) == "backward"


def _moves_weights(node: ast.AST) -> bool:
    """`p.data.add_(p.grad, alpha=-lr)`, `w -= lr * w.grad`, `w.data = w.data - lr * w.grad`."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=[*given]) if name in MOVING:
            return any(_is_gradient_of(one, owner) for one in given)
        case ast.AugAssign(target=target, op=ast.Add() | ast.Sub(), value=value):
            return _is_gradient_of(value, target)
        case ast.Assign(targets=[ast.Attribute(attr="data") as target], value=value):
            return _is_gradient_of(value, target)
    return False


def _is_gradient_of(value: ast.expr, weights: ast.expr) -> bool:
    """Whether a value has the gradient of these weights in it."""
    held = weights.value if isinstance(weights, ast.Attribute) and weights.attr == "data" else weights
    wanted = f"{ast.unparse(held)}.grad"
    return any(isinstance(one, ast.Attribute) and ast.unparse(one) == wanted for one in all_nodes(value))
