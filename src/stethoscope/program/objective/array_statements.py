"""Statements that make arrays: what variables are given, the axes that calls name, the noise they draw."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator

from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.calls import bare_name


def given_values(nodes: Iterable[ast.AST]) -> dict[str, list[ast.expr]]:
    """What each variable is given among nodes."""
    found: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node.value)
    return found


def axis_of(node: ast.Call, *, of_repeat: bool = False) -> object:
    """The axis that a call names; None where it names none, and its text where it is not written out."""
    given = next((k.value for k in node.keywords if k.arg in {"dim", "axis"}), None)
    if given is None and not of_repeat:
        given = node.args[1] if len(node.args) > 1 else None
    if given is None and of_repeat and is_of_library(node):
        given = node.args[2] if len(node.args) > 2 else None
    if given is None:
        return None
    try:
        axis = ast.literal_eval(given)
    except ValueError:
        return ast.unparse(given)
    return axis if isinstance(axis, int | str) else ast.unparse(given)


def is_of_library(node: ast.Call) -> bool:
    """Whether a call is a function of torch or numpy, whose first argument is the array."""
    return (
        isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in {"torch", "np", "numpy"}
        and bool(node.args)
    )


def is_drawn_like(noise: ast.expr, one: ast.expr, draws: Collection[str]) -> bool:
    """Whether noise is drawn in the shape of something: `0.01 * torch.randn_like(x)`, `randn(*x.shape)`."""
    shapes = {ast.unparse(one)}
    if isinstance(one, ast.Subscript):  # `randn(x.shape[1])` for a row of x
        whole = ast.unparse(one.value)
        shapes |= {f"{whole}.shape[", f"{whole}.size("}
    for node in all_nodes(noise):
        if isinstance(node, ast.Call) and bare_name(node) in draws:
            given = (*node.args, *(keyword.value for keyword in node.keywords))
            if any(shape in ast.unparse(arg) for arg in given for shape in shapes):
                return True
    return False


def changed_in(loop: ast.For) -> set[str]:
    """The variables that a loop changes."""
    return {n.id for n in all_nodes(loop, ast.Name) if isinstance(n.ctx, ast.Store)}


def words_of(node: ast.AST) -> Iterator[str]:
    """The words of the variables and attributes that a node mentions."""
    for inner in all_nodes(node):
        name = getattr(inner, "id", getattr(inner, "attr", None))
        if isinstance(name, str):
            yield from words(name)
