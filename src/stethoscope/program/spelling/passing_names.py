"""What a name holds that only passes it on to the next statement, written where it is read.

`made = net(x)` and then `crit(made, y)` become `crit(net(x), y)`: a name that is given once, read once, and
read in the next statement before that does anything else. A name may also be evidence of what it holds: one
that has such a word is left.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from stethoscope.program.spelling.nodes import below, statements
from stethoscope.program.spelling.passed_on import PassedOn, record
from stethoscope.program.spelling.telling_names import tells
from stethoscope.program.syntax import FunctionNode, blocks

_SOMETIMES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.BoolOp, ast.IfExp)
MOST_TAKEN = 24  # names that one statement is rid of: whoever writes a thousand in a row is a program
_ONLY_HERE = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)


def settle_passing_names(tree: ast.Module) -> None:
    """Take out the names that only pass a value on, in every function and at the top of the file."""
    passed: list[PassedOn] = []
    for node in statements(tree):
        if isinstance(node, FunctionNode | ast.Module):
            _settle_scope(node, passed)
    record(tree, passed)


def _settle_scope(scope: ast.Module | FunctionNode, passed: list[PassedOn]) -> None:
    passing = _passing(scope)
    waiting: list[ast.AST] = [scope] if passing else []
    while waiting:
        for block in blocks(waiting.pop()):
            block[:] = _merged(block, passing, passed)
            waiting += [one for one in block if not isinstance(one, FunctionNode | ast.ClassDef)]


def _passing(scope: ast.Module | FunctionNode) -> set[str]:
    """The names that tell nothing, are given once and read once, and that no other scope declares."""
    given: Counter[str] = Counter()
    read: Counter[str] = Counter()
    declared: set[str] = set()
    for node in below(scope):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else given)[node.id] += 1
        elif isinstance(node, ast.arg):
            declared.add(node.arg)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            declared.update(node.names)
    once = {name for name, count in given.items() if count == 1 and read[name] == 1}
    return {name for name in once - declared if not tells(name)}


def _merged(statements: list[ast.AST], passing: set[str], passed: list[PassedOn]) -> list[ast.AST]:
    written: list[ast.AST] = []
    inside: dict[int, int] = {}  # how many statements one has taken over, and these before it
    for statement in statements:
        while (
            written and _fits(inside, statement, written[-1]) and _takes_over(statement, written[-1], passing)
        ):
            taken = written.pop()
            inside[id(statement)] = inside.get(id(statement), 0) + inside.get(id(taken), 0) + 1
            passed.append(_passed_on(taken, statement))
        written.append(statement)
    return written


def _fits(inside: dict[int, int], statement: ast.AST, last: ast.AST) -> bool:
    """Whether an expression stays one that can be walked through after a statement is taken into it."""
    return inside.get(id(statement), 0) + inside.get(id(last), 0) < MOST_TAKEN


def _passed_on(given: ast.AST, reader: ast.AST) -> PassedOn:
    assert isinstance(given, ast.Assign)
    assert isinstance(given.targets[0], ast.Name)
    assert isinstance(reader, ast.stmt)
    return PassedOn(given.targets[0].id, given.value, reader.lineno, reader.end_lineno or reader.lineno)


def _takes_over(statement: ast.AST, last: ast.AST, passing: set[str]) -> bool:
    """Put the value of the last statement where this one reads it, if it is the first thing that it does."""
    match last:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in passing:
            pass
        case _:
            return False
    if isinstance(value, ast.Constant) or any(isinstance(node, _ONLY_HERE) for node in below(value)):
        return False
    for holder in _first_expressions(statement):
        return _put(statement, holder, name, value)
    return False


def _first_expressions(statement: ast.AST) -> Iterator[str]:
    """The field of a statement that it evaluates first."""
    match statement:
        case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.Return() | ast.Expr():
            yield "value"
        case ast.If():
            yield "test"
        case ast.For():
            yield "iter"


def _put(statement: ast.AST, field: str, name: str, value: ast.expr) -> bool:
    begun = getattr(statement, field)
    if isinstance(begun, ast.Name) and begun.id == name:
        setattr(statement, field, value)
        return True
    for holder, key, position in _evaluated(begun) if begun is not None else ():
        node = getattr(holder, key) if position is None else getattr(holder, key)[position]
        if isinstance(node, ast.Call | ast.Await):
            return False
        if isinstance(node, ast.Name) and node.id == name:
            if position is None:
                setattr(holder, key, value)
            else:
                getattr(holder, key)[position] = value
            return True
    return False


def _evaluated(node: ast.AST) -> Iterator[tuple[ast.AST, str, int | None]]:
    """Where each part of an expression stands, in the order in which they are evaluated."""
    if isinstance(node, _SOMETIMES):
        return
    for field, inner in ast.iter_fields(node):
        if isinstance(inner, ast.expr):
            yield from _evaluated(inner)
            yield node, field, None
        elif isinstance(inner, list):
            for position, one in enumerate(inner):
                if isinstance(one, ast.AST):
                    yield from _evaluated(one)
                if isinstance(one, ast.expr):
                    yield node, field, position
