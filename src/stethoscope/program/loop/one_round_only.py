"""What a loop does in one round of all: under `if step == 0`, where the loop counts `step` up and never back.

A number counts as the loop's own where its header gives it (`for step, batch in enumerate(loader)`) or where
its body adds to it and gives it no other value. A flag does where the body turns it one way and never back.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.index import dotted
from stethoscope.program.loop.loop_order import questions
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Assignment, Event, Scope
from stethoscope.program.walk.values import Applied, Constant, Leaf, Value


def asked_once(loop: TrainingLoop, event: Event, other: Event) -> str:
    """The question that lets an event happen in one round, while another goes on; "" where there is none.

    What the other one asks about the same number may divide the rounds in another way.
    """
    for scope in event.scopes():
        if scope is loop.body or scope.kind in {"loop", "comprehension"}:
            break
        if scope.kind != "if":
            continue
        counter = _counter(loop, scope)
        if counter and not any(counter in _names(question) for question, _ in questions(loop, other)):
            return ast.unparse(scope.node)
    return ""


def _counter(loop: TrainingLoop, scope: Scope) -> str:
    """The number or flag by which a condition is met in one round only."""
    tests = _conjuncts(scope.node) if scope.arm else iter(())
    for test in tests:
        asked, flag = _asked_number(test), _asked_flag(test)
        if asked is not None and (_is_of_header(loop, scope, test) or _is_counted(loop, scope, asked)):
            return _last(asked)
        if flag is not None and _is_turned(loop, scope, *flag):
            return _last(flag[0])
    return ""


def _conjuncts(test: ast.AST) -> Iterator[ast.AST]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from _conjuncts(value)
    else:
        yield test


def _asked_number(test: ast.AST) -> ast.expr | None:
    """The `step` of `step == 0`, `0 == step`, `step < 1` and `not step`."""
    match test:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=int())]):
            return left if dotted(left) else None
        case ast.Compare(left=ast.Constant(value=int()), ops=[ast.Eq()], comparators=[right]):
            return right if dotted(right) else None
        case ast.Compare(left=left, ops=[ast.Lt()], comparators=[ast.Constant(value=1)]):
            return left if dotted(left) else None
        case ast.Compare(left=left, ops=[ast.LtE()], comparators=[ast.Constant(value=0)]):
            return left if dotted(left) else None
        case ast.UnaryOp(op=ast.Not(), operand=left):
            return left if dotted(left) else None
    return None


def _asked_flag(test: ast.AST) -> tuple[ast.expr, bool] | None:
    """A flag and the value that meets the condition."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return (test.operand, False) if dotted(test.operand) else None
    return (test, True) if isinstance(test, ast.Name | ast.Attribute) else None


def _is_counted(loop: TrainingLoop, scope: Scope, number: ast.expr) -> bool:
    given = list(_given(loop, scope, number))
    return bool(given) and all(_adds(event, number) for event in given)


def _is_of_header(loop: TrainingLoop, scope: Scope, test: ast.AST) -> bool:
    """Whether a test asks about what the header of the loop, or of one around it, counts."""
    if loop.body is None:
        return False
    around = {id(one.node) for one in loop.body.outwards() if one.kind == "loop"}
    asked = [value for value in _operands(scope.value, test) if isinstance(value, Leaf)]
    counters = [loop.run.counted_by[id(value)] for value in asked if id(value) in loop.run.counted_by]
    return bool(counters) and all(id(node) in around for _, node in counters)


def _operands(value: Value | None, test: ast.AST) -> tuple[Value, ...]:
    """What a test compares, in the value of the condition that it is part of."""
    if not isinstance(value, Applied):
        return ()
    if value.site.node is test:
        return value.args
    return next((found for one in value.args if (found := _operands(one, test))), ())


def _given(loop: TrainingLoop, scope: Scope, number: ast.expr) -> Iterator[Assignment]:
    """What the body gives to a number: to a name in the function that asks, to an attribute anywhere."""
    asking = _function(scope)
    for event in loop.events:
        if not isinstance(event, Assignment) or dotted(event.target) is None:
            continue
        is_attribute = isinstance(number, ast.Attribute)
        if isinstance(event.target, ast.Attribute) is not is_attribute or _last(event.target) != _last(
            number
        ):
            continue
        if is_attribute or _function(event.scope) is asking:
            yield event


def _function(scope: Scope | None) -> ast.AST | None:
    """The call that a scope belongs to."""
    around = scope.outwards() if scope is not None else iter(())
    return next((one.node for one in around if one.kind == "call"), None)


def _adds(event: Assignment, number: ast.expr) -> bool:
    """`step += 1`, `step = step + 1`."""
    value: Value = event.value
    if event.operator == "+":
        return isinstance(value, Constant) and isinstance(value.value, int) and value.value > 0
    node = event.site.node
    written = node.value if isinstance(node, ast.Assign) else node
    return (
        isinstance(written, ast.BinOp)
        and isinstance(written.op, ast.Add)
        and dotted(written.left) == dotted(number)
        and isinstance(written.right, ast.Constant)
    )


def _is_turned(loop: TrainingLoop, scope: Scope, flag: ast.expr, met: bool) -> bool:
    """Whether the body turns a flag away from what meets the condition, and never back."""
    given = list(_given(loop, scope, flag))
    return bool(given) and all(
        isinstance(event.value, Constant) and event.value.value is (not met) and not event.operator
        for event in given
    )


def _last(node: ast.expr) -> str:
    return (dotted(node) or "").rpartition(".")[2]


def _names(question: str) -> set[str]:
    try:
        tree = ast.parse(question, mode="eval")
    except SyntaxError:  # a pattern of `match`
        return set()
    return {_last(node) for node in all_nodes(tree) if isinstance(node, ast.Name | ast.Attribute)}
