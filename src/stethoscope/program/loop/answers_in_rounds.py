"""What a condition answers in the rounds of the loops around it, tried on numbers.

for part in range(parts):
    is_last = part == parts            never: the last is parts - 1

What the rounds do not count, `parts` here, may be any number: several are tried, the same for the same words.
"""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence

from stethoscope.program.syntax import all_nodes

TRIED = (1, 2, 3, 4, 6, 8)
MOST_OPEN = 2  # amounts in one condition that are tried in all combinations
MOST_ROUNDS = 64

Number = int | float | bool
COMPUTED: Mapping[type[ast.AST], Callable[..., Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class _CannotTell(Exception):
    """Something in a condition is neither counted nor an amount."""


def same_in_all_rounds(test: ast.expr, loops: Sequence[ast.AST]) -> bool | None:
    """The answer that a question has in every round of these loops; None where it changes or is not known.

    A question that no loop counts for has no answer here.
    """
    counted = {name: rounds for loop in loops for name, rounds in _counted(loop)}
    asked = {one.id for one in all_nodes(test, ast.Name)} & counted.keys()
    if len(asked) != 1:
        return None
    name = asked.pop()
    rounds = counted[name]
    amounts = sorted({*_amounts(test, name), *(text for one in rounds for text in _amounts(one, name))})
    if len(amounts) > MOST_OPEN:
        return None
    found: set[bool] = set()
    try:
        for given in itertools.product(TRIED, repeat=len(amounts)):
            known: dict[str, Number] = dict(zip(amounts, given, strict=True))
            for at in itertools.islice(_rounds(rounds, known), MOST_ROUNDS):
                found.add(bool(_computed(test, {**known, name: at})))
    except (_CannotTell, ZeroDivisionError, TypeError):
        return None
    return found.pop() if len(found) == 1 else None


def _counted(loop: ast.AST) -> Iterator[tuple[str, Sequence[ast.expr]]]:
    """What a loop counts, and the ends between which it does: `for i in range(n)`, `enumerate(batches)`."""
    match loop:
        case ast.For(
            target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=args, keywords=[])
        ) if 1 <= len(args) <= 3:
            yield name, args
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(id=name), *_]),
            iter=ast.Call(func=ast.Name(id="enumerate"), args=[ast.expr() as over, *start], keywords=[]),
        ):
            length = ast.Call(ast.Name("len"), [over], [])
            yield name, ([start[0], ast.BinOp(start[0], ast.Add(), length)] if start else [length])


def _rounds(ends: Sequence[ast.expr], known: Mapping[str, Number]) -> range:
    numbers = [_computed(one, known) for one in ends]
    if not all(isinstance(one, int) for one in numbers):
        raise _CannotTell
    return range(*(int(one) for one in numbers))


def _amounts(node: ast.expr, counter: str) -> Iterator[str]:
    """What stands in an expression besides numbers and the counter: each as it is written."""
    match node:
        case ast.Constant():
            return
        case ast.Name(id=name) if name == counter:
            return
        case ast.BinOp(left=left, op=op, right=right) if type(op) in COMPUTED:
            yield from _amounts(left, counter)
            yield from _amounts(right, counter)
        case ast.Compare(left=left, comparators=others):
            for one in (left, *others):
                yield from _amounts(one, counter)
        case ast.BoolOp(values=values):
            for one in values:
                yield from _amounts(one, counter)
        case ast.UnaryOp(operand=operand):
            yield from _amounts(operand, counter)
        case _:
            yield ast.unparse(node)


def _computed(node: ast.expr, known: Mapping[str, Number]) -> Number:
    """What an expression gives for these numbers."""
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.BinOp(left=left, op=op, right=right) if type(op) in COMPUTED:
            return COMPUTED[type(op)](_computed(left, known), _computed(right, known))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPUTED:
            return COMPUTED[type(op)](_computed(left, known), _computed(right, known))
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_computed(one, known) for one in values)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_computed(one, known) for one in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _computed(operand, known)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_computed(operand, known)
    text = ast.unparse(node)
    if text not in known:
        raise _CannotTell
    return known[text]
