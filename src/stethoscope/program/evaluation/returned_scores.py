"""Which functions give back a score, and whether more of it is better, where their names do not say.

def score(model, data):                  def evaluate(model, data):
    total += loss.item() * len(x)            hits += (out.argmax(1) == y).sum().item()
    return total / count                     return hits / seen
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping

from stethoscope.program.evaluation.score_directions import Known, direction, named_direction
from stethoscope.program.index import Index
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import own_nodes
from stethoscope.run.names import HIGHER


@remembered
def returned_scores(index: Index) -> Mapping[str, str]:
    """The direction of what is returned, by the names of functions of which all that have it agree."""
    said: dict[str, set[str | None]] = defaultdict(set)
    for function in index.functions:
        if named_direction(function.name) is None and function.name not in {"forward", "__call__"}:
            said[function.name].add(_returned(function.node))
    return {name: found for name, (found, *others) in said.items() if found is not None and not others}


def _returned(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
    known = Known(_summed(function))
    said = {
        _counted(one.value, known) or direction(one.value, known)
        for one in own_nodes(function, ast.Return)
        if one.value is not None
    }
    return said.pop() if len(said) == 1 else None


def _summed(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, ast.expr]:
    """The names that are given one thing, or to which one thing is added, besides constants to begin with."""
    found: dict[str, list[ast.expr]] = defaultdict(list)
    for one in own_nodes(function):
        if not isinstance(one, ast.Assign | ast.AugAssign):
            continue
        targets = one.targets if isinstance(one, ast.Assign) else [one.target]
        for target in targets:
            pairs = (
                zip(target.elts, one.value.elts, strict=False)
                if isinstance(target, ast.Tuple) and isinstance(one.value, ast.Tuple)
                else [(target, one.value)]
            )
            for name, value in pairs:
                if isinstance(name, ast.Name) and not isinstance(value, ast.Constant):
                    found[name.id].append(value)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def _counted(node: ast.expr, known: Known, depth: int = 8) -> str | None:
    """Whether a number counts where two things are equal, which is an accuracy."""
    if depth == 0:
        return None
    match node:
        case ast.Compare(ops=[ast.Eq()]):
            return HIGHER
        case ast.Name(id=name) if name in known.names:
            return _counted(known.names[name], known, depth - 1)
        case ast.BinOp(left=left, op=ast.Div() | ast.FloorDiv() | ast.Mult()):
            return _counted(left, known, depth - 1)
        case ast.Call(
            func=ast.Attribute(value=inner, attr="sum" | "mean" | "item" | "float" | "cpu" | "double")
        ):
            return _counted(inner, known, depth - 1)
        case ast.Call(func=ast.Name(id="float" | "int" | "sum"), args=[inner, *_]):
            return _counted(inner, known, depth - 1)
    return None
