"""The loops that train: their moves in order, on every path through their conditions.

A training loop is the innermost loop that updates weights; where gradients are gathered in a loop of their
own inside it, that one is its micro loop. A function that updates weights and is called from a loop that
was not seen is taken as the body of one. What a framework's loop does between the hooks it calls is not
listed: only what the hooks themselves do.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from stethoscope.program.index import Function, Index, Module
from stethoscope.program.likenesses import words
from stethoscope.program.loop.moves import Kind, Move, moves
from stethoscope.program.loop.roles import Role, role_of
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.builtin_calls import BUILTINS
from stethoscope.program.walk.events import Call, Event, Jump, Scope
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.trace import Trace, traces
from stethoscope.program.walk.values import Applied, Delayed, Leaf, Outside, Part

MOST_CONDITIONS = 8  # told apart on paths; further ones are taken as met


@dataclass(frozen=True, eq=False)
class TrainingLoop:
    """A loop that trains.

    `body` is the scope that is repeated: a loop, or the call of a function that is repeated elsewhere.
    `moves` are those inside it; `before` and `after` are the moves of the same walk outside of it.
    `hook` is the method that a framework calls, where the loop itself is the framework's.
    """

    trace: Trace
    body: Scope | None
    moves: tuple[Move, ...]
    before: tuple[Move, ...]
    after: tuple[Move, ...]
    events: tuple[Event, ...]
    hook: Function | None = None

    @property
    def run(self) -> Execution:
        """The walk that met the loop; it tells roles and follows values."""
        return self.trace.run

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """Every way through the body that its conditions allow."""
        return tuple(_paths(self.moves, self.body))

    def of(self, *kinds: Kind) -> tuple[Move, ...]:
        """The moves of these kinds, in order."""
        return tuple(move for move in self.moves if move.kind in kinds)

    @cached_property
    def loops(self) -> tuple[Scope, ...]:
        """The loops around the backward pass, innermost first."""
        first = next((move for move in self.moves if move.kind is Kind.BACKWARD), None)
        return tuple(scope for scope in first.event.scopes() if scope.kind == "loop") if first else ()

    @cached_property
    def micro(self) -> Scope | None:
        """The loop inside the body in which gradients are gathered, where there is one."""
        inner = self.loops[0] if self.loops else None
        if inner is None or inner is self.body or self.body is None:
            return None
        return inner if self.body in inner.outwards() and self.body.kind == "loop" else None

    @cached_property
    def is_whole(self) -> bool:
        """Whether all that the loop does was met: nothing that trains was handed to code that is not here.

        A function that is called from a loop that was not seen may have its other half there.
        """
        is_finished = self.body is not None and self.body.node in self.run.finished
        is_ours = self.hook is None or self.trace.by_hand
        return is_finished and is_ours and self.is_seen and not any(self._escapes)

    @property
    def _escapes(self) -> Iterator[Call]:
        """Calls of unresolved things that get the optimizer, and might clear, clip or step."""
        for event in self.events:
            if isinstance(event, Call) and _is_unresolved(event):
                given = (*event.args, *event.keywords.values())
                if any(role_of(self.run, value) is Role.OPTIMIZER for value in given):
                    yield event

    @property
    def is_seen(self) -> bool:
        """Whether the loop itself was seen, and not only a function that is called from one."""
        return self.body is not None and self.body.kind == "loop"


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """One way through a loop's body: the moves met on it, in order, and how each condition went.

    `left` is the jump that ended it early.
    """

    moves: tuple[Move, ...]
    choices: tuple[tuple[str, bool], ...]
    left: Move | None = None

    def of(self, *kinds: Kind) -> tuple[Move, ...]:
        """The moves of these kinds, in order."""
        return tuple(move for move in self.moves if move.kind in kinds)


@remembered
def training_loops(index: Index, settings: SettingsTree) -> tuple[TrainingLoop, ...]:
    """Every loop of the program that trains, each seen from the outermost walk that meets it."""
    found: dict[ast.AST, TrainingLoop] = {}
    for trace in traces(index, settings):
        for loop in _loops_of(trace):
            node = loop.body.node if loop.body is not None else loop.trace.start
            key = node if isinstance(node, ast.AST) else _node_of(node)
            known = found.get(key)
            if known is None or _is_fuller(loop, known):
                found[key] = loop
    # A hook that was walked inside its rounds need not be looked at on its own.
    walked = {loop.hook.node for loop in found.values() if loop.hook is not None and loop.trace.by_hand}
    return tuple(loop for node, loop in found.items() if node not in walked)


def _is_fuller(one: TrainingLoop, other: TrainingLoop) -> bool:
    """Whether one walk saw more of a loop than the other, or knows at least who calls it."""
    return (len(one.moves), one.hook is not None) > (len(other.moves), other.hook is not None)


def _node_of(start: Function | Module) -> ast.AST:
    return start.source.tree if isinstance(start, Module) else start.node


def _loops_of(trace: Trace) -> Iterator[TrainingLoop]:
    known = moves(trace.run, trace.events)
    bodies: dict[int, Scope | None] = {}
    for backward in (move for move in known if move.kind is Kind.BACKWARD):
        body = _body(backward, known)
        bodies.setdefault(id(body.node) if body is not None else 0, body)
    if not bodies and trace.hook is not None:
        bodies[0] = None
    for body in bodies.values():
        yield _loop(trace, known, body)


def _body(backward: Move, known: Sequence[Move]) -> Scope | None:
    """The innermost loop around a backward pass that also updates weights, else the innermost loop, else the
    function."""
    scopes = list(backward.event.scopes())
    loops = [scope for scope in scopes if scope.kind == "loop"]
    for loop in loops:
        if any(move.updates and _is_inside(move.event, loop) for move in known):
            return loop
    calls_around = [scope for scope in scopes if scope.kind == "call"]
    for scope in calls_around:
        if any(move.updates and _is_once_in(move.event, scope) for move in known) and not loops:
            return scope
    return loops[0] if loops else (calls_around[0] if calls_around else None)


def _is_once_in(event: Event, scope: Scope) -> bool:
    """Whether an event is inside a scope and in no loop of its own there."""
    for one in event.scopes():
        if one is scope:
            return True
        if one.kind == "loop":
            return False
    return False


def _loop(trace: Trace, known: tuple[Move, ...], body: Scope | None) -> TrainingLoop:
    inside = tuple(move for move in known if body is None or _is_inside(move.event, body))
    first = known.index(inside[0]) if inside else len(known)
    last = known.index(inside[-1]) if inside else 0
    events = tuple(event for event in trace.events if body is None or _is_inside(event, body))
    return TrainingLoop(trace, body, inside, known[:first], known[last + 1 :], events, trace.hook)


def _is_unresolved(call: Call) -> bool:
    """Whether a call leads outside of what was read, torch and the trainers' usual objects excepted."""
    if call.name in {"step", "unscale_", "append", "isinstance", "print", "len", "state_dict"}:
        return False
    if isinstance(call.receiver, Outside):
        return not call.receiver.name.startswith(("torch", "math", "os", "numpy", "random"))
    callee = call.callee
    if callee is None:
        return isinstance(call.receiver, Leaf | Part)
    return isinstance(callee, Leaf | Part) or (
        isinstance(callee, Outside) and not callee.name.startswith(("torch", *BUILTINS))
    )


def _is_inside(event: Event, scope: Scope) -> bool:
    # A loop that is met several times is followed several times; one of them is enough to know it.
    return any(one is scope for one in event.scopes())


# Paths


def _paths(known: Sequence[Move], body: Scope | None) -> Iterator[Path]:
    asked = [tuple(_conditions(move.event, body)) for move in known]
    conditions = list(dict.fromkeys(key for questions in asked for key, _ in questions))
    told = conditions[:MOST_CONDITIONS]
    seen: set[tuple[Move, ...]] = set()
    for arms in itertools.product((True, False), repeat=len(told)):
        path = _path(known, asked, body, dict(zip(told, arms, strict=True)))
        if path.moves not in seen:
            seen.add(path.moves)
            yield path


def _path(
    known: Sequence[Move],
    asked: Sequence[tuple[tuple[str, bool], ...]],
    body: Scope | None,
    arms: dict[str, bool],
) -> Path:
    met: list[Move] = []
    left_scopes: list[Scope] = []
    left: Move | None = None
    for move, questions in zip(known, asked, strict=True):
        if any(arms.get(key, arm) is not arm for key, arm in questions):
            continue
        if left_scopes and any(scope in left_scopes for scope in move.event.scopes()):
            continue
        met.append(move)
        if isinstance(move.event, Jump):
            leaves = move.event.leaves
            if leaves is None or leaves is body:
                left = move
                break
            left_scopes.append(leaves)
    return Path(tuple(met), tuple(arms.items()), left)


def _conditions(event: Event, body: Scope | None) -> Iterator[tuple[str, bool]]:
    """The conditions between an event and the body, as a key that is the same for the same question."""
    for scope in event.scopes():
        if scope is body:
            return
        if scope.kind == "if":
            yield condition(scope)


def condition(scope: Scope) -> tuple[str, bool]:
    """A condition's question and answer: `if scaler is None` asks for `scaler` and is met where it is not."""
    node, arm = scope.node, scope.arm
    while True:
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                node, arm = inner, not arm
            case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
                node = left
            case ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
                node, arm = left, not arm
            case ast.Compare(left=left, ops=[ast.NotEq()], comparators=[right]):
                return f"{ast.unparse(left)} == {ast.unparse(right)}", not arm
            case ast.pattern():
                return f"case {ast.unparse(node)} at {getattr(node, 'lineno', 0)}", arm
            case _:
                return ast.unparse(node), arm


# What a loop runs over


def level(run: Execution, scope: Scope) -> str:
    """What one round of a loop is: "batch", "epoch", "step", or "" where it cannot be told."""
    node = scope.node
    if isinstance(node, ast.While):
        parts = {word for name in _names(node.test) for word in words(name)}
        return "epoch" if parts & {"epoch", "epochs"} else "step" if parts & _STEP_WORDS else ""
    if not isinstance(node, ast.For | ast.AsyncFor):
        return ""
    over = {word for name in _names(node.iter) for word in words(name)}
    target = {word for name in _names(node.target) for word in words(name)}
    if target & {"epoch", "epochs", "ep"}:
        return "epoch"
    if _is_over_data(run, scope):
        return "batch"  # whatever else it is told: log_every(loader, f"epoch {epoch}")
    if over & {"epoch", "epochs"}:
        return "epoch"
    if over & _LOADER_WORDS:
        return "batch"
    if over & _STEP_WORDS or target & _STEP_WORDS:
        return "step"
    if target & {"batch", "batches", "data", "images", "inputs"}:
        return "batch"
    return "epoch" if _counts(scope) and node in _around_data(run, len(run.events)) else ""


def _counts(scope: Scope) -> bool:
    """Whether a loop goes through numbers: `range(30)`, `itertools.count()`."""
    value = scope.value
    return isinstance(value, Applied) and value.callee.rpartition(".")[2] in {"range", "count", "trange"}


@lru_cache(maxsize=4)
def _around_data(run: Execution, met: int) -> frozenset[ast.AST]:
    """The loops each of whose rounds goes through a loader; `met` says how far the walk had come."""
    found: set[ast.AST] = set()
    for scope in {id(event.scope): event.scope for event in run.events[:met]}.values():
        loops = [one for one in (scope.outwards() if scope is not None else ()) if one.kind == "loop"]
        found |= {outer.node for inner, outer in itertools.pairwise(loops) if _is_over_data(run, inner)}
    return frozenset(found)


_STEP_WORDS = frozenset(
    {"step", "steps", "iter", "iters", "iteration", "iterations", "it", "update", "updates"}
)
_LOADER_WORDS = frozenset({"loader", "loaders", "dataloader", "dataset", "batches", "dl"})


def _is_over_data(run: Execution, scope: Scope) -> bool:
    value = scope.value
    while (
        isinstance(value, Applied)
        and value.callee in {"enumerate", "iter", "zip", "tqdm.tqdm"}
        and value.args
    ):
        value = value.args[0]
    if isinstance(value, Delayed):  # a generator of the repository goes through the loader it is given
        return any(role_of(run, given) is Role.LOADER for given in (*value.args, *value.keywords.values()))
    return role_of(run, value) is Role.LOADER


def _names(node: ast.AST) -> Iterator[str]:
    for inner in all_nodes(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.Attribute):
            yield inner.attr
