"""Updates of weights whose result is thrown away: a new tensor is made, and the weight stays as it was."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.syntax import all_nodes
from stethoscope.run import Program, Source

# What gives the tensors of a network, one by one.
HOLDS_WEIGHTS = frozenset({"parameters", "named_parameters", "buffers", "named_buffers"})
# Methods that give a new tensor; with an underscore behind them they change the old one.
MAKES_NEW = frozenset(
    {"lerp", "mul", "add", "sub", "div", "addcmul", "addcdiv", "clamp", "subtract", "multiply"}
)


@dataclass(frozen=True, slots=True, eq=False)
class ThrownUpdate:
    """A statement in a loop over weights that computes a new value and loses it.

    `is_average` says that the value is blended from the weights of two networks.
    """

    source: Source
    statement: ast.stmt
    name: str
    is_average: bool


def thrown_updates(program: Program) -> Iterator[ThrownUpdate]:
    """Every such statement of the source."""
    for source in program:
        if not any(f".{name}(" in source.text for name in HOLDS_WEIGHTS):
            continue
        for loop in all_nodes(source.tree, ast.For):
            if _holds_weights(loop.iter):
                yield from _thrown_in(source, loop)


def _holds_weights(value: ast.expr) -> bool:
    calls = (node.func for node in ast.walk(value) if isinstance(node, ast.Call))
    return any(isinstance(func, ast.Attribute) and func.attr in HOLDS_WEIGHTS for func in calls)


def _thrown_in(source: Source, loop: ast.For) -> Iterator[ThrownUpdate]:
    targets = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    for statement in _statements(loop.body):
        name = _updated(statement, targets)
        if name and not _is_read_behind(name, statement, loop):
            others = _names(statement) & targets - {name}
            yield ThrownUpdate(source, statement, name, bool(others) and not _speaks_of_gradients(statement))


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a loop, also inside conditions and blocks."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.With):
            yield from _statements([*statement.body, *getattr(statement, "orelse", [])])


def _updated(statement: ast.stmt, targets: set[str]) -> str:
    """The weight that a statement means to change and does not; empty where there is none."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in targets and name in _names(
            value
        ):
            return name if _computes(value) else ""
        case ast.Expr(value=ast.Call() as call):
            root = _root(call)
            return root if root in targets else ""
    return ""


def _computes(value: ast.expr) -> bool:
    """Whether a value is arithmetic; `p = p.to(device)` or `p.detach()` only prepares it."""
    if isinstance(value, ast.BinOp):
        return True
    return (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in MAKES_NEW
    )


def _root(call: ast.Call) -> str:
    """The name that a chain of methods begins with, where each of them gives a new tensor."""
    node: ast.expr = call
    made = 0
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr not in MAKES_NEW:
            return ""
        made += 1
        node = node.func.value
    if isinstance(node, ast.Attribute) and node.attr == "data":
        node = node.value
    return node.id if made and isinstance(node, ast.Name) else ""


def _is_read_behind(name: str, statement: ast.stmt, loop: ast.For) -> bool:
    """Whether the new value is used, in the loop behind the statement."""
    end = statement.end_lineno or statement.lineno
    reads = (node for node in ast.walk(loop) if isinstance(node, ast.Name) and node.id == name)
    return any(isinstance(node.ctx, ast.Load) and node.lineno > end for node in reads)


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _speaks_of_gradients(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == "grad" for node in ast.walk(statement))
