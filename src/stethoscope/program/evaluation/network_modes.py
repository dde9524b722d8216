"""The switches of mode that reach a network, and whether they hold where it is run."""

from __future__ import annotations

import ast

from stethoscope.program.evaluation.doubtful_modes import is_in_generator
from stethoscope.program.evaluation.evaluations import Walk
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.training_loop import condition
from stethoscope.program.walk.events import Call, Event, Jump
from stethoscope.program.walk.networks import COPYING, holds, networks
from stethoscope.program.walk.values import Applied, Constant, Instance, Part, Value


def mode_moves(walk: Walk, network: Value | None, is_exact: bool = False) -> tuple[Move, ...]:
    """The switches of mode that reach a network; with `is_exact` only those that surely do.

    One of several networks that was chosen once, by an option, is the same wherever all of them may stand.
    """
    found = []
    chosen = {id(one) for one in networks(network)}
    for move in walk.moves:
        if move.kind in {Kind.TRAIN_MODE, Kind.EVAL_MODE}:
            switched = {id(one) for one in networks(move.subject)}
            if is_exact and len(switched) != 1 and switched != chosen:
                continue
            if holds(move.subject, network):
                found.append(move)
    return tuple(found)


def is_open_mode(move: Move) -> bool:
    """`model.train(flag)` with a flag that is not known, and a switch between the elements of a generator."""
    call = move.event
    if is_in_generator(call):
        return True
    mode = call.argument(0, "mode") if isinstance(call, Call) else None
    return mode is not None and not isinstance(mode, Constant)


def turns_mode(move: Move) -> bool:
    """`net.train(not net.training)`: the other mode than the one before, whichever that was."""
    call = move.event
    if not isinstance(call, Call) or is_in_generator(call):
        return False
    mode = call.argument(0, "mode")
    asked = mode.args[0] if isinstance(mode, Applied) and mode.callee == "not" else None
    if not isinstance(asked, Part) or asked.key != "training":
        return False
    return holds(move.subject, asked.base) or _is_of_itself(call)


def _is_of_itself(call: Call) -> bool:
    """`build().train(not ...)` under one name: what is asked and what is switched are written alike."""
    node = call.site.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    given = [*node.args, *(word.value for word in node.keywords)]
    asked = [one.operand for one in given if isinstance(one, ast.UnaryOp)]
    own = ast.unparse(node.func.value)
    return any(isinstance(one, ast.Attribute) and ast.unparse(one.value) == own for one in asked)


def guards(event: Event, besides: Event) -> frozenset[tuple[str, bool]]:
    """The conditions around an event that do not also hold around another."""
    shared = {id(scope) for scope in besides.scopes()}
    return frozenset(
        condition(scope) for scope in event.scopes() if scope.kind == "if" and id(scope) not in shared
    )


def leads_out(walk: Walk, event: Event, before: Event) -> bool:
    """Whether the branch that an event is in ends the program or function before another event is reached."""
    enclosing = {id(scope) for scope in before.scopes()}
    branches = {id(s) for s in event.scopes() if s.kind in {"if", "loop", "call"} and id(s) not in enclosing}
    for other in walk.trace.events[walk.place(event) : walk.place(before)]:
        is_exit = isinstance(other, Call) and other.name in {"exit", "_exit", "quit"}
        is_jump = isinstance(other, Jump) and other.kind != "continue"
        if not (is_exit or is_jump):
            continue
        leaves = other.leaves if isinstance(other, Jump) else None
        is_outer = leaves is None or id(leaves) in enclosing
        conditional = [s for s in other.scopes() if s.kind == "if" and id(s) not in enclosing]
        if is_outer and all(id(scope) in branches for scope in conditional):
            return True
    return False


def is_copied_asleep(walk: Walk, network: Value | None) -> bool:
    """Whether a network was copied from one that was in evaluation mode, or may have been."""
    for one in networks(network):
        for call in walk.trace.events:
            if isinstance(call, Call) and call.name in COPYING and call.args and _is_copy(one, call):
                switches = mode_moves(walk, call.args[0])
                before = [m for m in switches if walk.place(m.event) < walk.place(call)]
                if before and before[-1].kind is Kind.EVAL_MODE:
                    return True
    return False


def _is_copy(network: Value, call: Call) -> bool:
    if isinstance(network, Applied):
        return network.site.node is call.site.node
    # Copies share what they were made with.
    return isinstance(network, Instance) and any(
        isinstance(one, Instance) and one is not network and one.made_with is network.made_with
        for one in networks(call.args[0])
    )
