"""Plain assignments: `x = f()` for `x: Tensor = f()` in a function, `if (x := f())` and `x, y = f(), g()`.

What a class or a file declares keeps its type, which fields and options are read from.
"""

from __future__ import annotations

import ast

from stethoscope.program.spelling.nodes import become, below
from stethoscope.program.syntax import FunctionNode, blocks

PIECE = "_is_a_piece"  # of a statement that gives several at once, whose place in the file it has


def settle_assignments(tree: ast.Module) -> None:
    """Take the types off the variables of functions, and names out of the conditions that begin with them."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        scope, is_inside = waiting.pop()
        for block in blocks(scope):
            block[:] = [one for statement in block for one in _with_names_first(statement)]
            block[:] = [one for statement in block for one in _one_by_one(statement)]
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


def _one_by_one(statement: ast.AST) -> list[ast.AST]:
    """`a = f()` and `b = g()` for `a, b = f(), g()`, where nothing that is read is written before.

    Pieces of one thing, and what begins together, are left together.
    """
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(
            values
        ):
            pass
        case _:
            return [statement]
    for place, name in enumerate(names):
        if not isinstance(name, ast.Name) or not isinstance(values[place], ast.Call | ast.BinOp):
            return [statement]
        if any(_reads(value, name.id) for value in values[place + 1 :]):
            return [statement]
    made = [ast.Assign([name], value) for name, value in zip(names, values, strict=True)]
    for one in made:
        ast.copy_location(one, statement)
        setattr(one, PIECE, True)
    return list(made)


def _reads(value: ast.expr, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in below(value))
