"""Parts of a settings object that are changed in place, under names that somebody types.

`cfg[key] = type(cfg[key])(value)` reads the part only to put another one in its place: which part it is does
not matter, for each stays where it was.
"""

from __future__ import annotations

import ast

from stethoscope.program.settings.mentions import Mentions, called


def is_changed_in_place(part: ast.expr, code: Mentions) -> bool:
    """Whether a part that is read by a computed name is read by the statement that replaces it."""
    place = _place(part)
    statement: ast.AST | None = part
    while statement is not None and not isinstance(statement, ast.stmt):
        statement = code.parents.get(id(statement))
    return place is not None and place in _replaced(statement)


def _replaced(statement: ast.AST | None) -> list[tuple[str, str] | None]:
    """The places, as base and key, that a statement fills."""
    if isinstance(statement, ast.Assign):
        return [_place(target) for target in statement.targets]
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if called(call) == "setattr" and len(call.args) == 3:
            return [(ast.unparse(call.args[0]), ast.unparse(call.args[1]))]
    return []


def _place(node: ast.expr) -> tuple[str, str] | None:
    if isinstance(node, ast.Subscript):
        return ast.unparse(node.value), ast.unparse(node.slice)
    if isinstance(node, ast.Call) and len(node.args) > 1 and called(node) == "getattr":
        return ast.unparse(node.args[0]), ast.unparse(node.args[1])
    if isinstance(node, ast.Call) and node.args and called(node).rpartition(".")[2] == "get":
        base = node.func.value if isinstance(node.func, ast.Attribute) else None
        return (ast.unparse(base), ast.unparse(node.args[0])) if base is not None else None
    return None
