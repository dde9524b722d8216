"""Statements that name a method and do not call it: `optimizer.zero_grad`, `loss.backward`, `net.eval`.

Python looks the method up and forgets it. That a name is one of a method is known of the methods that torch's
training loops are made of, and of those that the program's own classes define and nothing assigns.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.loop.roles import Role
from stethoscope.program.loop.roles_as_written import role_as_written
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

# Methods of torch that need no argument and that no object of a training has as a value.
OF_TORCH = frozenset({"backward", "zero_grad", "eval", "train", "step"})
TWO_MODES = (
    "ropout",
    "BatchNorm",
    "InstanceNorm",
    "Transformer",
    "retrained",
    "torchvision",
    "timm",
    ".training",
)


@dataclass(frozen=True, slots=True, eq=False)
class UncalledMethod:
    """The statement, the method that it names, and the part that the object seems to play."""

    source: Source
    named: ast.Attribute
    role: Role | None

    @property
    def method(self) -> str:
        """The name of the method."""
        return self.named.attr


@remembered
def uncalled_methods(index: Index) -> tuple[UncalledMethod, ...]:
    """Every statement that names a method and nothing more, where nothing else does what it should."""
    own = _own_methods(index)
    return tuple(
        UncalledMethod(body.source, named, role_as_written(body.source, named.value))
        for body in index.bodies
        if not is_test(body.source)
        for named in _named_alone(body)
        if (named.attr in OF_TORCH or named.attr in own)
        and not _is_called_too(body, named)
        and _matters(index, named.attr)
    )


def _named_alone(body: Function) -> Iterator[ast.Attribute]:
    """The statements of a body that are an attribute; in a `try` they ask whether it is there."""
    asked = {id(one) for attempt in own_nodes(body.node, ast.Try) for one in all_nodes(attempt, ast.Expr)}
    for statement in own_nodes(body.node, ast.Expr):
        named = statement.value
        if isinstance(named, ast.Attribute) and id(statement) not in asked and dotted(named) is not None:
            yield named


def _own_methods(index: Index) -> frozenset[str]:
    """The plain methods of the program's classes, without those that are a value anywhere."""
    plain: set[str] = set()
    values: set[str] = set()
    for body in index.bodies:
        if body.owner is not None and isinstance(body.node, ast.FunctionDef):
            (values if body.node.decorator_list else plain).add(body.node.name)
    if not plain:
        return frozenset()
    for source in index.program:
        for node in all_nodes(source.tree, ast.Attribute, ast.Name, ast.keyword):
            match node:
                case ast.Attribute(attr=name, ctx=ast.Store()) | ast.Name(id=name, ctx=ast.Store()):
                    values.add(name)
                case ast.keyword(arg=str() as name):
                    values.add(name)
    return frozenset(plain - values)


def _is_called_too(body: Function, named: ast.Attribute) -> bool:
    """Whether the same function calls such a method: of the same object, or one that clears gradients."""
    called = (call.func for call in own_nodes(body.node, ast.Call) if isinstance(call.func, ast.Attribute))
    return any(
        func.attr == named.attr and (named.attr == "zero_grad" or dotted(func) == dotted(named))
        for func in called
    )


def _matters(index: Index, method: str) -> bool:
    """Whether a mode makes a difference: without dropout and batch norm none does; all begin in training."""
    if method == "eval":
        return any(word in source.text for source in index.program for word in TWO_MODES)
    if method == "train":
        return any(".eval()" in source.text for source in index.program)
    return True
