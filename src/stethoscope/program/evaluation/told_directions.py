"""Which end of a score is better, by the name under which it is told: `print(f"psnr {p:.2f}")`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from stethoscope.program.evaluation.score_directions import named_direction
from stethoscope.program.syntax import all_nodes

# The word right before a number in a text, with what people put between: `psnr: `, `PSNR = `, `psnr `.
_LABEL = re.compile(r"([A-Za-z][\w/-]*)[\s:=(]*$")


def told_direction(score: ast.expr, statements: Sequence[ast.AST]) -> str | None:
    """Whether "higher" or "lower" is better, where all that is told of a score says the same."""
    if not isinstance(score, ast.Name):
        return None
    said = {named_direction(label) for one in statements for label in _labels(one, score.id)}
    return said.pop() if len(said) == 1 else None


def _labels(statement: ast.AST, name: str) -> Iterator[str]:
    """The names under which a statement tells of a variable, alone or rounded."""
    if not isinstance(statement, ast.Expr | ast.Assign):
        return  # the statements in its blocks come by themselves
    for node in all_nodes(statement):
        match node:
            case ast.JoinedStr(values=values):
                yield from _labels_in_text(values, name)
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str) and _is_of(value, name):
                        yield key.value
            case ast.Call(args=[ast.Constant(value=str() as label), value, *_]) if _is_of(value, name):
                yield label  # self.log("psnr", p), writer.add_scalar("val/psnr", p, step)
            case ast.keyword(arg=str() as label, value=value) if _is_of(value, name):
                yield label


def _labels_in_text(values: Sequence[ast.expr], name: str) -> Iterator[str]:
    for before, shown in pairwise(values):
        if isinstance(shown, ast.FormattedValue) and _is_of(shown.value, name):
            text = before.value if isinstance(before, ast.Constant) else None
            label = _LABEL.search(text) if isinstance(text, str) else None
            if label:
                yield label[1]


def _is_of(node: ast.expr, name: str) -> bool:
    """The variable itself, or a conversion of it: `p`, `float(p)`, `p.item()`, `round(p, 3)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=base, attr="item"), args=[]):
            return _is_of(base, name)
        case ast.Call(func=ast.Name(id="float" | "round"), args=[base, *_]):
            return _is_of(base, name)
    return isinstance(node, ast.Name) and node.id == name
