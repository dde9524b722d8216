"""Weights of a loss that are the quotient of two gradients' sizes, with nothing that bounds them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.telling_bodies import telling_functions
from stethoscope.run import Source

_BOUNDS = re.compile(r"clamp|clip\b|clip\(|\bmin\(|\bmax\(|minimum|maximum|nan_to_num|tanh|sigmoid|isfinite")


@dataclass(frozen=True, slots=True, eq=False)
class GradientQuotient:
    """A division of one gradient's size by that of another."""

    source: Source
    node: ast.BinOp


def gradient_quotients(index: Index) -> Iterator[GradientQuotient]:
    """Every quotient of gradients' sizes in a function that neither bounds it nor keeps it from zero."""
    for function in telling_functions(index, lambda text: "grad" in text):
        if "grad(" not in ast.unparse(function.node):
            continue
        if _BOUNDS.search(ast.unparse(function.node)):
            continue
        gradients = set(_gradients(function))
        for node in own_nodes(function.node, ast.BinOp):
            sides = (node.left, node.right)
            if isinstance(node.op, ast.Div) and all(_is_size(function, side, gradients) for side in sides):
                yield GradientQuotient(function.source, node)


def _gradients(function: Function) -> Iterator[str]:
    """The names of what `torch.autograd.grad` gave."""
    for node in own_nodes(function.node, ast.Assign):
        called = [dotted(one.func) or "" for one in all_nodes(node.value, ast.Call)]
        if any(name.endswith("autograd.grad") or name == "grad" for name in called):
            for target in node.targets:
                yield from (one.id for one in all_nodes(target, ast.Name))


def _is_size(function: Function, node: ast.expr, gradients: set[str]) -> bool:
    """`g.norm()`, `torch.norm(g)`, or a name for one."""
    match node:
        case ast.Name(id=name):
            given = [
                one.value
                for one in own_nodes(function.node, ast.Assign)
                if any(isinstance(target, ast.Name) and target.id == name for target in one.targets)
            ]
            return (
                len(given) == 1
                and not isinstance(given[0], ast.Name)
                and _is_size(function, given[0], gradients)
            )
        case ast.Call(func=ast.Attribute(value=inner, attr="norm" | "vector_norm"), args=args):
            parts = [inner, *args]
            return any(isinstance(one, ast.Name) and one.id in gradients for one in parts)
    return False
