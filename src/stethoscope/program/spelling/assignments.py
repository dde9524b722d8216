"""Plain assignments: `x = f()` for `x: Tensor = f()` in a function, and for `if (x := f()) > 0`.

What a class or a file declares keeps its type, which fields and options are read from.
"""

from __future__ import annotations

import ast

from stethoscope.program.spelling.nodes import become
from stethoscope.program.syntax import FunctionNode, blocks


def settle_assignments(tree: ast.Module) -> None:
    """Take the types off the variables of functions, and names out of the conditions that begin with them."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        scope, is_inside = waiting.pop()
        for block in blocks(scope):
            block[:] = [one for statement in block for one in _with_names_first(statement)]
            for statement in block:
                if is_inside and isinstance(statement, ast.AnnAssign) and statement.value is not None:
                    become(statement, ast.Assign([statement.target], statement.value))
                is_local = isinstance(statement, FunctionNode) or (
                    is_inside and not isinstance(statement, ast.ClassDef)
                )
                waiting.append((statement, is_local))


def _with_names_first(statement: ast.AST) -> list[ast.AST]:
    """A condition and, in front of it, the assignment that it does first."""
    match statement:
        case ast.If(test=ast.NamedExpr() as named):
            holder: tuple[ast.AST, str] = (statement, "test")
        case ast.If(test=ast.Compare(left=ast.NamedExpr() as named) as test):
            holder = (test, "left")
        case ast.If(test=ast.UnaryOp(operand=ast.NamedExpr() as named) as test):
            holder = (test, "operand")
        case _:
            return [statement]
    setattr(*holder, ast.copy_location(ast.Name(named.target.id, ast.Load()), named.target))
    return [ast.copy_location(ast.Assign([named.target], named.value), named), statement]
