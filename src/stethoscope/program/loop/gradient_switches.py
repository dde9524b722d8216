"""Gradients that are switched off for good: `torch.set_grad_enabled(False)` as a statement.

A `with` or a decorator ends where it ends. The call on its own holds for all that comes after it, in the
next round of a loop around it too.
"""

from __future__ import annotations

import ast

from stethoscope.program.loop.gradient_modes import OFF, without_gradients
from stethoscope.program.loop.moves import Kind
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Call, Event
from stethoscope.program.walk.values import Applied, Constant

SWITCHES = frozenset({"set_grad_enabled", "_set_grad_enabled"})


def left_off(loop: TrainingLoop) -> Call | None:
    """The statement after which the backward pass of a loop has no graph, where nothing switches it back.

    It is met before the loop, or in the round before.
    """
    backward = next(iter(loop.of(Kind.BACKWARD)), None)
    switches = [e for e in loop.trace.events if isinstance(e, Call) and _is_statement(e)]
    if backward is None or not loop.is_seen or not switches or _may_record_again(loop):
        return None
    position = {id(event): place for place, event in enumerate(loop.trace.events)}
    others = [event for event in switches if not _is_off(event)]
    for event in switches:
        if not _is_off(event) or not _is_sure(event, backward.event):
            continue
        if not any(_is_between(one, event, backward.event, position) for one in others):
            return event
    return None


def _is_statement(call: Call) -> bool:
    """Whether a call sets the mode of all that follows, and is not what a `with` enters."""
    if call.name == "__enter__":
        entered = call.receiver
        return isinstance(entered, Applied) and entered.callee.rpartition(".")[2] in OFF
    if call.name not in SWITCHES:
        return False
    statements = (node for node in all_nodes(call.site.source.tree, ast.Expr))
    return any(node.value is call.site.node for node in statements)


def _is_off(call: Call) -> bool:
    mode = call.argument(0, "mode")
    return call.name == "__enter__" or (isinstance(mode, Constant) and mode.value is False)


def _may_record_again(loop: TrainingLoop) -> bool:
    """Whether anything that the walk met has a place inside of which gradients are recorded, or ends one."""
    sources = {id(event.site.source): event.site.source for event in loop.trace.events}
    return any("enable_grad" in source.text or "__exit__" in source.text for source in sources.values())


def _is_sure(switch: Call, backward: Event) -> bool:
    """Whether a switch is met before a backward pass, in the round before or ahead of the loop.

    A condition on the number of the round (`if epoch % 5 == 0`) is met in some round; the next one trains.
    """
    around = {id(scope) for scope in backward.scopes()}
    if without_gradients(switch) or switch.scope is None:
        return False
    asked = [s.node for s in switch.scopes() if s.kind == "if" and id(s) not in around]
    if not all(map(_takes_remainder, asked)):
        return False
    return any(scope.kind == "loop" and id(scope) in around for scope in switch.scopes())


def _takes_remainder(test: ast.AST) -> bool:
    return any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) for node in all_nodes(test))


def _is_between(one: Event, off: Event, backward: Event, position: dict[int, int]) -> bool:
    """Whether an event comes after the switch and before the backward pass, in one round or the next."""
    place, start, end = position[id(one)], position[id(off)], position[id(backward)]
    return start < place < end if start < end else place > start or place < end
