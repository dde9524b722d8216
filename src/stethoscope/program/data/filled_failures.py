"""Samples that could not be read and are made up of zeros, with the label of what is missing.

try:
    image = read(path)
except OSError:
    image = np.zeros((224, 224))
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.data.sample_functions import sample_functions
from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.values import Site

EMPTY = frozenset({"zeros", "zeros_like", "empty", "empty_like", "ones", "full"})
# Who hears of it, or counts it, may look at it.
TOLD = frozenset({"print", "warn", "warning", "error", "exception", "info", "debug", "log", "append", "add"})
LEARNING = frozenset({"grad", "backward", "enable_grad", "vjp", "jacrev"})
# What tells the training which samples, or which parts of them, are there.
MARKS = frozenset({"mask", "valid", "ok", "weight", "present", "missing", "available", "modality"})


@remembered
def filled_failures(index: Index) -> tuple[Site, ...]:
    """Where a sample is filled with nothing because it could not be read, and goes on as any other."""
    return tuple(site for function in sample_functions(index) for site in _in_function(function))


def _in_function(function: Function) -> Iterator[Site]:
    named = [word for node in own_nodes(function.node) for word in _words(node)]
    if MARKS.intersection(named):
        return
    for block in own_nodes(function.node, ast.Try):
        read = _stored(block.body)
        if LEARNING.intersection(
            bare_name(call) for part in block.body for call in all_nodes(part, ast.Call)
        ):
            continue  # what fails is a computation with gradients, and no file
        if filled := _filled_before(function, block, read):
            yield Site(function.source, filled)
        for handler in block.handlers:
            calls = [bare_name(call) for node in handler.body for call in all_nodes(node, ast.Call)]
            leaves = any(
                isinstance(one, ast.Raise | ast.Continue) for node in handler.body for one in all_nodes(node)
            )
            if (
                leaves
                or TOLD.intersection(calls)
                or any(isinstance(one, ast.AugAssign) for one in handler.body)
            ):
                continue
            for statement in handler.body:
                if _fills(statement, read, function):
                    yield Site(function.source, statement)
                    break


def _filled_before(function: Function, block: ast.Try, read: set[str]) -> ast.stmt | None:
    """`image = np.zeros(...)` before a `try` that reads it, and whose failure nobody hears of."""
    if any(not isinstance(one, ast.Pass) for handler in block.handlers for one in handler.body):
        return None
    for node in own_nodes(function.node, ast.Assign):
        is_before = node.lineno < block.lineno and node.col_offset == block.col_offset
        if is_before and _fills(node, read, function):
            return node
    return None


def _words(node: ast.AST) -> list[str]:
    name = getattr(node, "id", None) or getattr(node, "attr", None)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        name = node.value
    return list(words(name)) if isinstance(name, str) else []


def _stored(body: list[ast.stmt]) -> set[str]:
    return {
        name
        for statement in body
        for node in all_nodes(statement, ast.Assign)
        for target in node.targets
        for name in (dotted(target),)
        if name
    }


def _fills(statement: ast.stmt, read: set[str], function: Function) -> bool:
    """`image = np.zeros(...)` for what the `try` reads, and `return torch.zeros(...), label`."""
    match statement:
        case ast.Assign(targets=[target], value=value) if dotted(target) in read:
            return _is_empty(value)
        case ast.Return(value=ast.Tuple(elts=[first, *rest])) if rest and function.name == "__getitem__":
            return _is_empty(first) and not any(_is_none(one) for one in rest)
        case ast.Return(value=ast.Call() as value) if not function.name.startswith("__"):
            return _is_empty(value)  # a method that reads, for the one that makes the sample
    return False


def _is_empty(value: ast.expr) -> bool:
    """A call that gives zeros of a shape, or a new picture, whatever is done to it then."""
    node: ast.AST = value
    while isinstance(node, ast.Call):
        is_picture = isinstance(node.func, ast.Attribute) and ast.unparse(node.func) == "Image.new"
        if bare_name(node) in EMPTY or is_picture:
            return True
        node = (
            node.func.value
            if isinstance(node.func, ast.Attribute)
            else node.args[0]
            if node.args
            else node.func
        )
    return False


def _is_none(node: ast.expr) -> bool:
    """A label that says that there is none: `None`, -1, -100."""
    is_nothing = isinstance(node, ast.Constant) and node.value is None
    return is_nothing or isinstance(node, ast.UnaryOp)
