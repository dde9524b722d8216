"""The parts of a network that learn behind what an optimizer was given of it.

Who trains only the head of a network leaves out what comes before it. A part that is left out and gets what
the trained part gives is another thing: a head, a projection or a loss with weights of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from stethoscope.program.loop.parameter_owners import has_weights
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Instance, Value
from stethoscope.run import Where


def left_out_behind(
    run: Execution, network: Instance, is_held: Callable[[Value], bool]
) -> Iterator[tuple[str, Value, Where]]:
    """The parts that no optimizer has and that run on what a held part gave: name, part, where they run."""
    forward = run.index.method(network.cls, "forward")
    if forward is None:
        return
    parts = {name: value for name, value in network.attributes.items() if has_weights(run, value)}
    # A network from elsewhere has weights too, where an optimizer got them.
    held = {name for name, value in network.attributes.items() if is_held(value)}
    left = parts.keys() - held
    if not held or not left:
        return
    told: set[str] = set()
    given: set[str] = set()
    for statement in _in_order(forward.node):
        for call in (node for node in all_nodes(statement, ast.Call)):
            name = _part_called(call)
            if name in left - told and any(_comes_from(arg, held, given) for arg in call.args):
                told.add(name)
                yield name, parts[name], forward.source.where(call)
        if isinstance(statement, ast.Assign) and _comes_from(statement.value, held, given):
            stored = (node for target in statement.targets for node in all_nodes(target))
            given |= {node.id for node in stored if isinstance(node, ast.Name)}


def _in_order(function: ast.AST) -> list[ast.stmt]:
    """The statements of a function that compute something, from top to bottom."""
    kinds = (ast.Assign, ast.Return, ast.AugAssign, ast.Expr)
    return sorted(
        (node for node in all_nodes(function) if isinstance(node, kinds)), key=lambda one: one.lineno
    )


def _part_called(call: ast.Call) -> str:
    """`part` of `self.part(...)`."""
    func = call.func
    is_own = isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "self"
    return func.attr if is_own and isinstance(func, ast.Attribute) else ""


def _comes_from(node: ast.AST, held: set[str], given: set[str]) -> bool:
    """Whether an expression uses what a held part gave, and gradients can go back to it."""
    for inner in all_nodes(node):
        if isinstance(inner, ast.Call) and _part_called(inner) in held:
            return True
        if isinstance(inner, ast.Name) and inner.id in given:
            return True
    return False
