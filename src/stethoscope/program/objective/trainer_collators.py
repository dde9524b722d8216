"""The function or object of the repository that a Trainer is given to make its batches."""

from __future__ import annotations

import ast

from stethoscope.program.index import Class, Function, Module, dotted
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import FunctionValue, Value


def collator(run: Execution, module: Module, node: ast.expr | None) -> Value | None:
    """The function or object of the repository that a Trainer is given to make its batches."""
    name = dotted(node) if node is not None else None
    target = run.index.resolve(module, name) if name else None
    if isinstance(target, Function):
        return FunctionValue(target)
    made = node if isinstance(node, ast.Call) else _assigned(module, name) if name else None
    cls = run.index.resolve(module, dotted(made.func) or "") if made is not None else None
    return run.make(cls) if isinstance(cls, Class) else None


def _assigned(module: Module, name: str) -> ast.Call | None:
    """The one call that a name is assigned anywhere in a module."""
    found = [
        node.value
        for node in all_nodes(module.source.tree, ast.Assign)
        if any(dotted(target) == name for target in node.targets)
    ]
    return found[0] if len(found) == 1 and isinstance(found[0], ast.Call) else None
