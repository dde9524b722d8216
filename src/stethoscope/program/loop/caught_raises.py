"""Errors that a loop raises and catches itself, to go on with the next round.

`except BadLoss: continue` around a call that raises is a `continue` of the loop.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Call, Event, Jump
from stethoscope.program.walk.values import FunctionValue


def caught_before(loop: TrainingLoop, skipped: Event) -> Iterator[tuple[Event, ast.expr]]:
    """What raises before an event of the same round, with the question that it raises on, where a handler
    goes on without the event."""
    body = loop.body.node if loop.body is not None and loop.body.kind == "loop" else None
    tries = all_nodes(body, ast.Try) if body is not None else []
    for event in loop.events if tries else ():
        if event is skipped:
            return
        for raising, asked in _raises(event):
            if any(_goes_on(node, event, raising, skipped) for node in tries):
                yield event, asked


def _raises(event: Event) -> Iterator[tuple[ast.Raise, ast.expr]]:
    """The raises of an event, with the conditions around them: its own, or of the function it calls."""
    if isinstance(event, Jump) and isinstance(event.site.node, ast.Raise):
        scope = next((one for one in event.scopes() if one.kind == "if"), None)
        if scope is not None and isinstance(scope.node, ast.expr):
            yield event.site.node, scope.node
    elif isinstance(event, Call) and isinstance(event.callee, FunctionValue):
        for node in all_nodes(event.callee.function.node):
            if isinstance(node, ast.If):
                yield from ((one, node.test) for one in node.body if isinstance(one, ast.Raise))


def _goes_on(node: ast.Try, event: Event, raising: ast.Raise, skipped: Event) -> bool:
    """Whether a `try` around an event catches what it raises and leaves out another event, not the run."""
    if not _holds(node.body, event):
        return False
    handler = next((one for one in node.handlers if _catches(one, raising)), None)
    if handler is None:
        return False
    leaves = any(isinstance(inner, ast.Raise | ast.Return | ast.Break) for inner in all_nodes(handler))
    if leaves or "exit" in ast.unparse(handler):
        return False
    return _holds(node.body, skipped) or isinstance(handler.body[-1], ast.Continue)


def _holds(body: list[ast.stmt], event: Event) -> bool:
    """Whether an event happens in some statements, or in a function that they call."""
    inside = [inner for statement in body for inner in all_nodes(statement)]
    if any(inner is event.site.node for inner in inside):
        return True
    names = {scope.node.name for scope in event.scopes() if isinstance(scope.node, ast.FunctionDef)}
    called = (inner.func for inner in inside if isinstance(inner, ast.Call))
    return any(str(getattr(func, "attr", None) or getattr(func, "id", "")) in names for func in called)


def _catches(handler: ast.ExceptHandler, raising: ast.Raise) -> bool:
    made = raising.exc.func if isinstance(raising.exc, ast.Call) else raising.exc
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {_last(kind) for kind in kinds if kind is not None}
    is_named = made is not None and _last(made) in names
    return handler.type is None or is_named or bool(names & {"Exception", "BaseException"})


def _last(node: ast.AST) -> str:
    return str(getattr(node, "attr", None) or getattr(node, "id", ""))
