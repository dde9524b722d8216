"""`count += 1` for `count = count + 1`, where the count begins as a number.

With a tensor the two are not the same: one writes into it. A number is replaced in either form, and whoever
reads a gradient finds the same in `p.grad` after both.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.spelling.nodes import statements
from stethoscope.program.syntax import FunctionNode, blocks

_EITHER_WAY_ROUND = (ast.Add, ast.Mult)


def settle_sums(tree: ast.Module) -> None:
    """Shorten what adds to a number of the same function, or to an attribute that a number is put into."""
    attributes = {name for node in statements(tree) for name in _numbered(node, ast.Attribute)}
    _settle_scope(tree, attributes)
    for node in statements(tree):
        if isinstance(node, FunctionNode):
            _settle_scope(node, attributes)


def _settle_scope(scope: ast.Module | FunctionNode, attributes: set[str]) -> None:
    own = list(_own(scope))
    numbers = {name for node in own for name in _numbered(node, ast.Name)}
    for node in own:
        for block in blocks(node):
            for place, statement in enumerate(block):
                if isinstance(statement, ast.Assign):
                    block[place] = _shortened(statement, numbers, attributes)


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """The scope and the statements in it, without those of other functions; expressions are not entered."""
    waiting = [scope]
    while waiting:
        node = waiting.pop()
        yield node
        for block in blocks(node):
            waiting += [one for one in block if not isinstance(one, FunctionNode)]


def _numbered(node: ast.AST, kind: type[ast.Name] | type[ast.Attribute]) -> Iterator[str]:
    """The names or attributes that are given a number here."""
    targets: list[ast.expr] = []
    match node:
        case ast.Assign(value=ast.Constant(value=int() | float())):
            targets = node.targets
        case ast.AnnAssign(value=ast.Constant(value=int() | float())):
            targets = [node.target]
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            pairs = zip(names, values, strict=False)
            targets = [
                name
                for name, value in pairs
                if isinstance(value, ast.Constant) and isinstance(value.value, int | float)
            ]
    for target in targets:
        if isinstance(target, kind):
            yield target.id if isinstance(target, ast.Name) else target.attr


def _shortened(statement: ast.Assign, numbers: set[str], attributes: set[str]) -> ast.stmt:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name) as target]) if name in numbers:
            pass
        case ast.Assign(targets=[ast.Attribute(attr=name) as target]) if name in attributes or name == "grad":
            pass
        case _:
            return statement
    match statement.value:
        case ast.BinOp(left=left, op=op, right=right) if _is_same(left, target):
            return ast.copy_location(ast.AugAssign(target, op, right), statement)
        case ast.BinOp(left=left, op=op, right=right) if _is_same(right, target) and isinstance(
            op, _EITHER_WAY_ROUND
        ):
            return ast.copy_location(ast.AugAssign(target, op, left), statement)
    return statement


def _is_same(node: ast.expr, target: ast.expr) -> bool:
    """Whether both are `a.b.c`."""
    match node, target:
        case ast.Name(id=one), ast.Name(id=other):
            return one == other
        case ast.Attribute(attr=one, value=left), ast.Attribute(attr=other, value=right):
            return one == other and _is_same(left, right)
    return False
