"""Rounds of a loop that are left at once: `if not a: continue` for `if a:` around the rest.

Rounds of training that are left out are no such thing: what is skipped is a step, and facts ask for that.
"""

from __future__ import annotations

import ast

from stethoscope.program.spelling.nodes import below, statements


def settle_early_continues(tree: ast.Module) -> None:
    """Put what only some rounds do under the condition that they meet."""
    for node in statements(tree):
        if isinstance(node, ast.For | ast.While):
            node.body = _settled(node.body)


def _settled(body: list[ast.stmt]) -> list[ast.stmt]:
    for place, statement in enumerate(body):
        match statement:
            case ast.If(test=test, body=[ast.Continue()], orelse=[]) if _can_move(body[place + 1 :]):
                statement.test = _opposite(test)
                statement.body = _settled(body[place + 1 :])
                statement.end_lineno = statement.body[-1].end_lineno
                statement.end_col_offset = statement.body[-1].end_col_offset
                return body[: place + 1]
    return body


def _can_move(rest: list[ast.stmt]) -> bool:
    """Whether there is something to be done, and it is no step of training."""
    called = (one.func for part in rest for one in below(part) if isinstance(one, ast.Call))
    return bool(rest) and not any(getattr(func, "attr", "") in {"backward", "step"} for func in called)


def _opposite(test: ast.expr) -> ast.expr:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return inner
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _TURNED:
            return ast.copy_location(ast.Compare(left, [_TURNED[type(op)]()], [right]), test)
    return ast.copy_location(ast.UnaryOp(ast.Not(), test), test)


_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
