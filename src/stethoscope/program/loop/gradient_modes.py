"""Whether gradients are recorded where an event happens."""

from __future__ import annotations

import ast

from stethoscope.program.index import Function, dotted
from stethoscope.program.syntax import FunctionNode
from stethoscope.program.walk.events import Event, Scope
from stethoscope.program.walk.values import Applied, Constant, Value

OFF = frozenset({"no_grad", "inference_mode"})
ON = frozenset({"enable_grad"})
SWITCHED_OFF, SWITCHED_ON = ast.Name("no_grad"), ast.Name("enable_grad")  # contexts that no line enters


def without_gradients(event: Event) -> bool:
    """Whether an event is surely inside no_grad or inference_mode, by a `with` or a decorator."""
    return _is_off(event.scope)


def recorded_as(other: Scope | None, here: Scope | None) -> Scope | None:
    """The scope `here`, with gradients recorded or not as they are in another."""
    off = _is_off(other)
    if here is None or off == _is_off(here):
        return here
    return Scope("with", SWITCHED_OFF if off else SWITCHED_ON, here.source, here)


def _is_off(scope: Scope | None) -> bool:
    modes = (_mode(one) for one in scope.outwards()) if scope is not None else iter(())
    return next((mode for mode in modes if mode is not None), True) is False


def is_switched_off(function: Function) -> bool:
    """Whether a decorator switches gradients off in all of a function."""
    return any(_mode_of_context(decorator, None) is False for decorator in function.node.decorator_list)


def _mode(scope: Scope) -> bool | None:
    """True where a scope records gradients, False where it does not, None where it leaves that alone."""
    if scope.kind == "with":
        return _mode_of_context(scope.node, scope.value)
    if scope.kind == "call" and isinstance(scope.node, FunctionNode):
        for decorator in scope.node.decorator_list:
            mode = _mode_of_context(decorator, None)
            if mode is not None:
                return mode
    return None


def _mode_of_context(node: ast.AST, value: Value | None) -> bool | None:
    if isinstance(value, Applied) and value.callee.rpartition(".")[2] == "set_grad_enabled":
        given = value.args[0] if value.args else value.keywords.get("mode")
        # A switch that is not known may be either: what it is for is to record in training.
        return not (isinstance(given, Constant) and given.value is False)
    name = dotted(node.func if isinstance(node, ast.Call) else node) or ""
    last = name.rpartition(".")[2]
    if last in OFF:
        return _is_switched_on(node)
    return True if last in ON else None


def _is_switched_on(node: ast.AST) -> bool:
    """`inference_mode(False)` records gradients."""
    given = node.args[:1] if isinstance(node, ast.Call) else []
    return bool(given) and isinstance(given[0], ast.Constant) and given[0].value is False
