"""Ratios of which the ranks bring one side together and leave the other each to itself.

dist.all_reduce(correct)
return correct / seen          `seen` is what this rank has seen
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

REDUCING = frozenset({"all_reduce", "reduce", "all_gather", "gather", "reduce_tensor", "gather_for_metrics"})
WORLD = ("world", "get_world_size", "num_processes", "num_replicas", "AVG")


@dataclass(frozen=True, slots=True, eq=False)
class HalfReduced:
    """Where a ratio is taken, the side that was reduced and the side that was not."""

    ratio: Site
    reduced: str
    alone: str


@remembered
def half_reduced(index: Index) -> tuple[HalfReduced, ...]:
    """Every ratio of a sum over all ranks and a sum over one."""
    return tuple(
        found
        for function in index.bodies
        if "reduce" in function.source.text and not is_test(function.source)
        for found in _in_function(function)
    )


def _in_function(function: Function) -> Iterator[HalfReduced]:
    nodes = own_nodes(function.node)
    reducing = [one for one in nodes if isinstance(one, ast.Call) and bare_name(one) in REDUCING]
    if not reducing or any("AVG" in ast.unparse(call) for call in reducing):
        return
    summed = _summed(function)
    reduced = {name for call in reducing for one in all_nodes(call) for name in (_name(one),) if name}
    reduced |= _handed_on(function, reduced)
    for node in own_nodes(function.node, ast.BinOp):
        if not isinstance(node.op, ast.Div) or any(word in ast.unparse(node) for word in WORLD):
            continue
        over, under = _side(node.left), _side(node.right)
        if over not in summed or under not in summed or (over in reduced) == (under in reduced):
            continue
        if _is_before(node, reducing):
            continue
        pair = (over, under) if over in reduced else (under, over)
        if not _is_local_ratio(function, node, reducing):
            yield HalfReduced(Site(function.source, node), *pair)
            return


def _name(node: ast.AST) -> str:
    return (dotted(node) or "") if isinstance(node, ast.Name | ast.Attribute) else ""


def _summed(function: Function) -> set[str]:
    """The names that rounds of a loop add to: `seen += len(y)`."""
    return {
        dotted(node.target) or ""
        for loop in own_nodes(function.node, ast.For)
        for node in all_nodes(loop, ast.AugAssign)
        if isinstance(node.op, ast.Add)
    } - {""}


def _handed_on(function: Function, reduced: set[str]) -> set[str]:
    """Names that a reduced tensor is unpacked into: `correct, seen = both.tolist()`."""
    found: set[str] = set()
    for node in own_nodes(function.node, ast.Assign):
        read = {_name(one) for one in all_nodes(node.value)}
        if read & reduced:
            found |= {_name(one) for target in node.targets for one in all_nodes(target)} - {""}
    return found


def _side(node: ast.expr) -> str:
    """The name of one side of a ratio: `seen`, `seen.item()`, `max(seen, 1)`, `100.0 * correct`."""
    while True:
        match node:
            case ast.Call(func=ast.Name(id="max" | "float" | "int"), args=[inner, *_]):
                node = inner
            case ast.Call(func=ast.Attribute(value=inner, attr="item" | "float" | "clamp" | "double")):
                node = inner
            case ast.BinOp(op=ast.Mult(), left=ast.Constant(), right=inner):
                node = inner
            case _:
                return _name(node)


def _is_before(node: ast.AST, reducing: list[ast.Call]) -> bool:
    return all(call.lineno > getattr(node, "lineno", 0) for call in reducing)


def _is_local_ratio(function: Function, node: ast.BinOp, reducing: list[ast.Call]) -> bool:
    """Whether the ratio itself is what is reduced then."""
    return any(node in all_nodes(call) for call in reducing)
