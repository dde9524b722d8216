"""Pads that a network looks for among its tokens: where it hides them from its attention, they are there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.data.ingredients import ingredients, peeled
from stethoscope.program.objective.padded_tokens import PAD
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.network_passes import is_network_pass
from stethoscope.program.walk.values import Delayed, FunctionValue, Site, Value


def pads_in_sight(run: Execution, prediction: Value, target: Value) -> Iterator[Site]:
    """Where the network compares tokens with the pad that the target is made of as well."""
    wanted = peeled(target)
    for value in ingredients(run, prediction):
        if not (isinstance(value, Delayed) and is_network_pass(run.index, value)):
            continue
        if not isinstance(value.callee, FunctionValue):
            continue
        function = value.callee.function
        parameters = [name for name in function.parameters if name not in {"self", "cls"}]
        given = dict(zip(parameters, value.args, strict=False)) | dict(value.keywords)
        shared = {name for name, one in given.items() if peeled(one) is wanted}
        for node in all_nodes(function.node):
            if isinstance(node, ast.Compare) and _asks_for_pad(node, shared):
                yield Site(function.source, node)


def _asks_for_pad(node: ast.Compare, names: set[str]) -> bool:
    """`tokens == PAD`, `self.pad_id != tokens`."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
        return False
    sides = (node.left, node.comparators[0])
    return any(
        isinstance(one, ast.Name) and one.id in names and PAD.search(ast.unparse(other))
        for one, other in (sides, sides[::-1])
    )
