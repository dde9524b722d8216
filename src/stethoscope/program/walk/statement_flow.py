"""Following statements in order.

Each block says whether it falls through to what comes after it. Both branches of an unknown condition are
followed from the same state, and the states they end in are joined.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from stethoscope.program.index import dotted
from stethoscope.program.syntax import FunctionNode
from stethoscope.program.walk.arithmetic import truth
from stethoscope.program.walk.assignments import assign
from stethoscope.program.walk.builtin_calls import CONCRETE_ROUNDS
from stethoscope.program.walk.decorators import decorated
from stethoscope.program.walk.displays import comprehended_pieces
from stethoscope.program.walk.events import Assignment, Event, Jump, Scope
from stethoscope.program.walk.filled_tables import fill_with
from stethoscope.program.walk.frames import Around, Frame
from stethoscope.program.walk.held_contexts import held_after_entering, held_at_yield
from stethoscope.program.walk.loop_counters import forget_counters, note_counter
from stethoscope.program.walk.operators import binary, is_about_resuming
from stethoscope.program.walk.parameter_values import entry_parameters
from stethoscope.program.walk.unrecorded import noting_unrecorded
from stethoscope.program.walk.values import (
    NOTHING,
    Applied,
    ClassValue,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    LambdaValue,
    Leaf,
    Site,
    Value,
    choice,
)

if TYPE_CHECKING:
    from stethoscope.program.walk.execution import Execution

IN_PLACE = frozenset({"thumbnail"})  # of a picture; followed only where its size is at stake
FEW_LINES = 20  # of a function that is followed for what it does, though nobody uses its result
SYMBOLS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


def follow_block(run: Execution, body: Sequence[ast.stmt], frame: Frame) -> bool:
    """Follow statements up to the first that leaves; whether none does."""
    # A generator for each block costs as much as a short statement.
    for statement in body:  # noqa: SIM110
        if not _follow_statement(run, statement, frame):
            return False
    return True


def _follow_statement(run: Execution, node: ast.stmt, frame: Frame) -> bool:
    run.spend()
    match node:
        case ast.Return(value=value):
            frame.returned.append(run.evaluate(value, frame) if value else NOTHING)
            _met_jump(run, node, "return", frame)
            return False
        case ast.Raise() | ast.Break() | ast.Continue():
            _met_jump(run, node, type(node).__name__.lower(), frame)
            return False
        case ast.Expr(value=value):
            _run_expression(run, value, frame)
        case ast.Assign(targets=targets, value=value):
            _assign_all(run, targets, value, frame)
        case ast.AnnAssign(target=target, value=value) if value is not None:
            _assign_all(run, [target], value, frame)
        case ast.AugAssign(target=target, op=op, value=value):
            _augment(run, node, target, op, value, frame)
        case ast.If(test=test, body=body, orelse=orelse):
            return _if(run, test, body, orelse, frame)
        case ast.For() | ast.AsyncFor():
            _for(run, node, frame)
        case ast.While(test=test, body=body):
            _while(run, node, test, body, frame)
        case ast.With() | ast.AsyncWith():
            return _with(run, node, node.items, frame)
        case ast.Try(body=body, orelse=orelse, finalbody=final):
            falls = follow_block(run, body, frame) and follow_block(run, orelse, frame)
            return follow_block(run, final, frame) and falls
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            frame.names[node.name] = _local_function(run, node, frame)
            fill_with(run, node, frame)
        case ast.ClassDef():
            found = next((c for c in run.index.classes if c.node is node), None)
            if found is not None:
                frame.names[node.name] = ClassValue(found)
                fill_with(run, node, frame)
        case ast.Match(cases=cases):
            blocks = [_running(run, case.body, frame, case.pattern) for case in cases]
            return _fork(run, blocks, frame)
    return True


def _run_expression(run: Execution, node: ast.expr, frame: Frame) -> None:
    """An expression whose result is dropped; a method that works in place leaves it in its object."""
    result = run.evaluate(node, frame)
    if run.tracing and isinstance(result, Delayed) and _is_short(result.callee):
        run.force(result)  # called for what it does, such as telling a writer
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        # `label.fill_(0)`: the name stands for what it is filled with.
        is_filled = node.func.attr == "fill_" and isinstance(node.func.value, ast.Name)
        if is_filled or node.func.attr in IN_PLACE:
            assign(run, node.func.value, result, frame)


def _if(run: Execution, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt], frame: Frame) -> bool:
    tested = run.evaluate(test, frame)
    known = truth(_answered(run, tested))
    if known is not None and not (run.tracing and is_about_resuming(test)):
        return follow_block(run, body if known else orelse, frame)
    arms = [
        _running(run, body, frame, test, tested),
        _running(run, orelse, frame, test, tested, arm=False),
    ]
    return _fork(run, arms, frame)


def _answered(run: Execution, tested: Value) -> Value:
    """What a function of one comparison answers: `def match(self, event): return event is Event.END`."""
    if not isinstance(tested, Delayed) or not isinstance(tested.callee, FunctionValue):
        return tested
    match tested.callee.function.node.body[-1:]:
        case [ast.Return(value=ast.Constant(value=bool()))]:
            is_plain = True
        case [
            ast.Return(value=ast.Compare(ops=[ast.Is() | ast.IsNot() | ast.In() | ast.NotIn() | ast.Eq()]))
        ]:
            is_plain = True
        case _:
            is_plain = False
    is_alone = len(tested.callee.function.node.body) == 1
    return run.force(tested) if is_plain and is_alone else tested


def _running(
    run: Execution,
    body: Sequence[ast.stmt],
    frame: Frame,
    test: ast.AST,
    tested: Value | None = None,
    arm: bool = True,
) -> Callable[[], bool]:
    def follow() -> bool:
        with run.inside("if", test, frame, tested, arm):
            return follow_block(run, body, frame)

    return follow


def _while(run: Execution, node: ast.While, test: ast.expr, body: list[ast.stmt], frame: Frame) -> None:
    forget_counters(run, node, frame)
    rounds = CONCRETE_ROUNDS if run.eager else 1
    while rounds and truth(tested := run.evaluate(test, frame)) is not False:
        rounds -= 1
        with run.inside("loop", node, frame, tested):
            follow_block(run, body, frame)


def _for(run: Execution, node: ast.For | ast.AsyncFor, frame: Frame) -> None:
    iterable = run.evaluate(node.iter, frame)
    forget_counters(run, node, frame)
    for element in run.elements(iterable):
        note_counter(run, node, element)
        assign(run, node.target, element, frame)
        with run.inside("loop", node, frame, iterable):
            follow_block(run, node.body, frame)
    follow_block(run, node.orelse, frame)


def _with(
    run: Execution, node: ast.With | ast.AsyncWith, items: Sequence[ast.withitem], frame: Frame
) -> bool:
    if not items:
        return follow_block(run, node.body, frame)
    first, *others = items
    marks, run.yields = run.yields, []
    entered = run.evaluate(first.context_expr, frame)
    held = held_at_yield(run.yields[0][1], run.scope) if run.yields else ()
    manager = entered if isinstance(entered, Instance) and run.tracing else None
    if run.yields and isinstance(entered, Items) and entered.items:
        entered = choice(*entered.items)  # what a generator gives is what it is entered as
    afterwards = _after_yield(run)
    run.yields = marks
    if manager is not None:
        met = len(run.events)
        entered = _managed(run, manager, "__enter__", entered)
        held = held_after_entering(run.events[met:], run.scope)
    if first.optional_vars is not None:
        assign(run, first.optional_vars, _as_entered(entered), frame)
    noting = noting_unrecorded(run.unrecorded, node, first.context_expr, frame)
    with run.inside("with", first.context_expr, frame, entered), _holding(run, held), noting:
        falls = _with(run, node, others, frame)
    run.events.extend(afterwards)
    if manager is not None:
        _managed(run, manager, "__exit__", entered)
    return falls


def _after_yield(run: Execution) -> list[Event]:
    """Take out what a context manager of the repository does after its yield, and so after the body."""
    if not run.yields:
        return []
    given = run.yields[0][0]
    afterwards = run.events[given:]
    del run.events[given:]
    return afterwards


@contextmanager
def _holding(run: Execution, held: Sequence[Scope]) -> Iterator[None]:
    """Follow the body inside what its context manager holds open."""
    before = run.scope
    for scope in held:
        run.scope = Scope("with", scope.node, scope.source, run.scope, scope.value)
    try:
        yield
    finally:
        run.scope = before


def _managed(run: Execution, manager: Instance, name: str, otherwise: Value) -> Value:
    """Follow what an object does when it is entered or left."""
    method = run.index.method(manager.cls, name)
    if method is None:
        return otherwise
    unknown = {parameter: Leaf(parameter) for parameter in entry_parameters(method)}
    return run.follow(FunctionValue(method, manager), (), unknown)


def _fork(run: Execution, blocks: Sequence[Callable[[], bool]], frame: Frame) -> bool:
    """Follow alternatives from the same state and join the states they end in."""
    before = frame.names
    ends: list[tuple[dict[str, Value], dict[tuple[int, object], Value]]] = []
    slots: dict[tuple[int, object], dict[object, Value]] = {}
    for block in blocks:
        frame.names = dict(before)
        mark = len(run.journal)
        falls = block()
        written = _undo(run, mark, slots)
        if falls:
            ends.append((frame.names, written))
    frame.names = _joined_names([names for names, _ in ends]) if ends else dict(before)
    touched = {slot for _, written in ends for slot in written}
    for slot in touched:
        home, key = slots[slot], slot[1]
        options = [written.get(slot, home.get(key)) for _, written in ends]
        run.write(home, key, choice(*(option for option in options if option is not None)))
    return bool(ends)


def _undo(
    run: Execution, mark: int, slots: dict[tuple[int, object], dict[object, Value]]
) -> dict[tuple[int, object], Value]:
    written: dict[tuple[int, object], Value] = {}
    for home, key, before in reversed(run.journal[mark:]):
        slot = (id(home), key)
        slots[slot] = home
        written.setdefault(slot, home[key])
        if before is None:
            del home[key]
        else:
            home[key] = before
    del run.journal[mark:]
    return written


def _assign_all(run: Execution, targets: list[ast.expr], value: ast.expr, frame: Frame) -> None:
    first = targets[0]
    if isinstance(first, ast.Tuple | ast.List) and isinstance(value, ast.GeneratorExp | ast.ListComp):
        evaluated: Value = comprehended_pieces(run, value, len(first.elts), frame)
    else:
        evaluated = run.evaluate(value, frame)
    for target in targets:
        _met_assignment(run, value, target, evaluated, frame)
        assign(run, target, evaluated, frame)


def _augment(
    run: Execution, node: ast.stmt, target: ast.expr, op: ast.operator, value: ast.expr, frame: Frame
) -> None:
    before = run.evaluate(target, frame)  # evaluation never looks at the load or store context
    after = run.evaluate(value, frame)
    _met_assignment(run, node, target, after, frame, SYMBOLS.get(type(op), "?"))
    assign(run, target, binary(run, op, before, after, Site(frame.module.source, node)), frame)


def _local_function(run: Execution, node: FunctionNode, frame: Frame) -> Value:
    known = next((f for f in run.index.functions_named(node.name) if f.node is node), None)
    if known is None:
        return Leaf(node.name)
    if frame.function is None:
        return run.decorated_function(FunctionValue(known), frame)
    # The names around a function are looked up when it is called, so the live mapping is kept.
    plain = FunctionValue(known, None, Around(frame))
    return decorated(run, plain, frame) if run.tracing else plain


def _met_assignment(
    run: Execution, node: ast.AST, target: ast.expr, value: Value, frame: Frame, operator: str = ""
) -> None:
    if run.tracing:
        site = Site(frame.module.source, node)
        owner = _owner(run, target, frame)
        run.events.append(Assignment(site, run.scope, tuple(run.stack), target, value, operator, owner))


def _owner(run: Execution, target: ast.expr, frame: Frame) -> Value | None:
    """The object of `object.name = ...`, where it is written as a chain of names."""
    if not isinstance(target, ast.Attribute | ast.Subscript) or dotted(target.value) is None:
        return None
    return run.evaluate(target.value, frame)


def _met_jump(run: Execution, node: ast.stmt, kind: str, frame: Frame) -> None:
    if not run.tracing:
        return
    around = "call" if kind == "return" else "loop"
    scopes = run.scope.outwards() if run.scope is not None else iter(())
    leaves = next((scope for scope in scopes if scope.kind == around), None) if kind != "raise" else None
    run.events.append(Jump(Site(frame.module.source, node), run.scope, tuple(run.stack), kind, leaves))


def _joined_names(states: list[dict[str, Value]]) -> dict[str, Value]:
    if len(states) == 1:
        return states[0]
    first, *others = states
    if len(others) == 1:
        return _joined_pair(first, others[0])
    names = {name for state in states for name in state}
    return {name: choice(*(state[name] for state in states if name in state)) for name in names}


def _joined_pair(left: dict[str, Value], right: dict[str, Value]) -> dict[str, Value]:
    """The names of two branches, which leave most of them alone."""
    joined = left | right
    for name, value in left.items():
        if joined[name] is not value:
            joined[name] = choice(value, joined[name])
    return joined


def _as_entered(value: Value) -> Value:
    """What `with ... as x` binds: apex's scale_loss gives the scaled loss."""
    if isinstance(value, Applied) and value.callee.endswith("scale_loss") and value.args:
        return value.args[0]
    return value


def _is_short(callee: FunctionValue | LambdaValue) -> bool:
    """Whether a function is followed in a few steps."""
    node = callee.function.node if isinstance(callee, FunctionValue) else callee.node
    return (node.end_lineno or node.lineno) - node.lineno <= FEW_LINES
