"""Where the learning rate stands after a resume, where it is counted by hand or in other units.

A rate that a loop computes from its own count begins anew where that count begins at zero in each run. A
schedule that steps with each batch and is told the epoch as its place goes back almost to the start, and one
that steps with each epoch and is told the count of batches is at its end.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stethoscope.program.evaluation.evaluations import Walk, names_in
from stethoscope.program.index import dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.resume.checkpointing import COUNTER_WORDS, Resumption, is_loaded, schedules
from stethoscope.program.syntax import FunctionNode, all_nodes
from stethoscope.program.walk.ancestry import ancestry, quietly
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.events import Assignment, Call, Event, Scope
from stethoscope.program.walk.values import Applied, Constant, Delayed, FunctionValue, Part, Site, Value

HOPS = 4  # from a function to those that call it
EPOCHS = frozenset({"epoch", "epochs"})
WRAPPERS = frozenset({"tqdm", "track", "progress", "iter"})


@dataclass(frozen=True, slots=True, eq=False)
class RestartedRate:
    """Where the rate is set, and the count from zero that it is computed from."""

    rate: Site
    count: str
    counted: Site


def placed_by_epoch(walk: Walk) -> Iterator[Move]:
    """Schedules that step with each batch and whose `last_epoch` is the epoch that a checkpoint holds."""
    for move in schedules(walk):
        loops = [s for s in move.event.scopes() if s.kind == "loop" and id(s) in walk.training_scopes]
        last = _told_place(walk, move) or _put_in_place(walk, move)
        if last is None or len(loops) < 2 or not _counts_epochs(loops[-1]):
            continue
        made = list(ancestry(walk.trace.run, last))
        is_scaled = any(isinstance(one, Applied) and one.callee in {"*", "len", "//"} for one in made)
        if not is_scaled and any(_is_epoch(walk, one) for one in made):
            yield move


def placed_by_step(walk: Walk) -> Iterator[Move]:
    """Schedules that step with each epoch and whose `last_epoch` is the count of batches in a checkpoint."""
    counted = [
        event
        for event in walk.trace.events
        if isinstance(event, Assignment) and event.operator == "+" and len(_training_loops(walk, event)) > 1
    ]
    raised = {name for event in counted for name in names_in(event.target)}
    if not any(_speaks_of_steps(name) for name in raised):
        return
    for move in schedules(walk):
        loops = _training_loops(walk, move.event)
        last = _told_place(walk, move) or _put_in_place(walk, move)
        if (
            last is None
            or len(loops) != 1
            or not _counts_epochs(loops[0])
            or not _trains_inside(walk, loops[0])
        ):
            continue
        made = list(ancestry(walk.trace.run, last))
        is_scaled = any(isinstance(one, Applied) and one.callee in {"*", "len", "//", "/"} for one in made)
        is_counted = any(
            isinstance(one, Part) and _speaks_of_steps(str(one.key)) and _is_out_of_file(walk, one)
            for one in made
        )
        if is_counted and not is_scaled and not any(_is_epoch(walk, one) for one in made):
            yield move


def _training_loops(walk: Walk, event: Event) -> list[Scope]:
    return [s for s in event.scopes() if s.kind == "loop" and id(s) in walk.training_scopes]


def _trains_inside(walk: Walk, loop: Scope) -> bool:
    """Whether the batches are gone through in a loop inside this one."""
    steps = (_training_loops(walk, move.event) for move in walk.moves if move.kind is Kind.BACKWARD)
    return any(len(loops) > 1 and loops[-1] is loop for loops in steps)


def _speaks_of_steps(name: str) -> bool:
    return bool((COUNTER_WORDS - EPOCHS) & set(words(name)))


def _told_place(walk: Walk, move: Move) -> Value | None:
    """The `last_epoch` that a schedule is made with, also by a function of the program."""
    made = quietly(walk.trace.run, move.subject) if isinstance(move.subject, Delayed) else move.subject
    return made.keywords.get("last_epoch") if isinstance(made, Applied) else None


def _put_in_place(walk: Walk, move: Move) -> Value | None:
    """What `schedule.last_epoch` is set to before training."""
    node = move.event.site.node
    holder = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    name = (dotted(holder) or "").rpartition(".")[2] if holder is not None else ""
    for event in walk.trace.events:
        if isinstance(event, Assignment) and isinstance(event.target, ast.Attribute) and not event.operator:
            owner = (dotted(event.target.value) or "").rpartition(".")[2]
            if event.target.attr == "last_epoch" and name and owner == name and not _trains(walk, event):
                return event.value
    return None


def _counts_epochs(loop: Scope) -> bool:
    """Whether a loop goes through epochs by its variable's name."""
    node = loop.node
    target = node.target if isinstance(node, ast.For) else getattr(node, "test", None)
    return target is not None and any("epoch" in word for name in names_in(target) for word in words(name))


def _is_epoch(walk: Walk, value: Value) -> bool:
    if not isinstance(value, Part) or not isinstance(value.key, str):
        return False
    return bool(EPOCHS & set(words(value.key))) and _is_out_of_file(walk, value)


def _is_out_of_file(walk: Walk, piece: Part) -> bool:
    return any(is_loaded(inner) for inner in ancestry(walk.trace.run, piece.base))


# --- a rate that the loop sets


def restarted_rates(resumption: Resumption) -> Iterator[RestartedRate]:
    """Rates that a resumed loop computes from a count that begins at zero in each run."""
    walk = resumption.walk
    for event in walk.trace.events:
        given = _rates_given(event)
        if not given or not _trains(walk, event):
            continue
        fresh: dict[str, ast.AST] = {}
        names = _names_behind(walk, event, given)
        moving = _loop_names(walk, event, fresh)
        counted = _counters(walk, names)
        fresh |= counted
        used = names & fresh.keys()
        if used and not names & (moving - fresh.keys()) and not _are_restored(walk, names):
            count = min(used)
            yield RestartedRate(event.site, count, Site(event.site.source, fresh[count]))
            return


def _trains(walk: Walk, event: Event) -> bool:
    return any(scope.kind == "loop" and id(scope) in walk.training_scopes for scope in event.scopes())


def _is_rate(target: ast.expr) -> bool:
    """`group["lr"]`, in a loop over the groups of an optimizer or not."""
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        return target.slice.value == "lr"
    return False


def _rates_given(event: Event) -> list[ast.AST]:
    """What a rate is computed from where it is set, or where a function is told to set it."""
    if isinstance(event, Assignment):
        return [event.site.node] if _is_rate(event.target) else []  # the site is that of the value
    if not isinstance(event, Call) or not isinstance(event.callee, FunctionValue):
        return []
    function = event.callee.function
    if "lr" not in function.source.text:
        return []
    set_there = [
        node.value for node in all_nodes(function.node, ast.Assign) if any(map(_is_rate, node.targets))
    ]
    used = _closure(set_there, _variables(function.node))
    return list(_handed(event, list(function.parameters), used))


def _closure(nodes: Sequence[ast.AST], given: Mapping[str, Sequence[ast.expr]]) -> set[str]:
    """The names in some expressions, and in what these names were given."""
    waiting = list(nodes)
    found: set[str] = set()
    while waiting:
        for name in _names(waiting.pop()) - found:
            found.add(name)
            waiting.extend(given.get(name, ()))
    return found


def _names_behind(walk: Walk, event: Event, nodes: list[ast.AST]) -> set[str]:
    """The names that a value is computed from: in its function, and in those that hand it in."""
    waiting = nodes
    found: set[str] = set()
    calls = [scope for scope in event.scopes() if scope.kind == "call"][:HOPS]
    for scope in (*calls, None):
        function = scope.node if scope is not None else None
        tree = function if function is not None else event.site.source.tree
        spec = function.args if isinstance(function, FunctionNode) else None
        parameters = [arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)] if spec else []
        here = _closure(waiting, _variables(tree))
        found |= here
        call = walk.call_of(scope) if scope is not None else None
        if call is None or not here & set(parameters):
            break
        waiting = list(_handed(call, parameters, here))
    return found


def _handed(call: Call, parameters: list[str], used: set[str]) -> Iterator[ast.AST]:
    node = call.site.node
    if not isinstance(node, ast.Call):
        return
    named = parameters[1:] if parameters[:1] == ["self"] else parameters
    for name, arg in zip(named, node.args, strict=False):
        if name in used:
            yield arg
    yield from (keyword.value for keyword in node.keywords if keyword.arg in used)


def _variables(tree: ast.AST) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for node in all_nodes(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node.value)
    return found


def _names(node: ast.AST) -> set[str]:
    """The variables and attributes in an expression, called functions left out."""
    called = {id(inner.func) for inner in all_nodes(node, ast.Call)}
    found = (
        getattr(inner, "attr", getattr(inner, "id", None))
        for inner in all_nodes(node)
        if id(inner) not in called
    )
    return {name for name in found if isinstance(name, str)}


def _loop_names(walk: Walk, event: Event, fresh: dict[str, ast.AST]) -> set[str]:
    """The variables of the loops that train around an event; into `fresh` that of the outermost, from 0."""
    loops = [s for s in event.scopes() if s.kind == "loop" and id(s) in walk.training_scopes]
    found: set[str] = set()
    for loop in loops:
        if isinstance(loop.node, ast.For):
            found |= set(names_in(loop.node.target))
    outermost = loops[-1].node if loops else None
    if isinstance(outermost, ast.For):
        name = _counted_from_zero(outermost)
        if name:
            fresh[name] = outermost
    return found


def _counted_from_zero(loop: ast.For) -> str:
    """The variable of `for i in range(n)` or `for i, batch in enumerate(batches)`."""
    header = loop.iter
    while isinstance(header, ast.Call) and bare_name(header) in WRAPPERS and header.args:
        header = header.args[0]
    first = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else loop.target
    if not (isinstance(header, ast.Call) and isinstance(first, ast.Name)):
        return ""
    name = bare_name(header)
    if name == "enumerate" and isinstance(loop.target, ast.Tuple):
        start = [*header.args[1:], *(k.value for k in header.keywords)]
        return first.id if all(isinstance(one, ast.Constant) for one in start) else ""
    if name == "zip" and header.args and isinstance(header.args[0], ast.Call):
        inner = header.args[0]
        is_count = bare_name(inner) == "count" and all(isinstance(arg, ast.Constant) for arg in inner.args)
        return first.id if is_count else ""
    if name in {"range", "trange"}:
        is_whole = len(header.args) == 1 or isinstance(header.args[0], ast.Constant)
        return first.id if is_whole else ""
    return ""


def _counters(walk: Walk, names: set[str]) -> dict[str, ast.AST]:
    """Those of the names that are counted up in training and get nothing but written numbers besides."""
    counted: dict[str, ast.AST] = {}
    other: set[str] = set()
    for event in walk.trace.events:
        if not isinstance(event, Assignment):
            continue
        target = event.target
        name = getattr(target, "attr", getattr(target, "id", ""))
        if name not in names:
            continue
        if event.operator == "+" and _trains(walk, event):
            counted.setdefault(name, event.site.node)
        elif not isinstance(event.value, Constant):
            other.add(name)
    return {name: node for name, node in counted.items() if name not in other}


def _are_restored(walk: Walk, names: set[str]) -> bool:
    """Whether any of the names gets something out of a checkpoint."""
    for event in walk.trace.events:
        if not isinstance(event, Assignment):
            continue
        if not names & (set(names_in(event.target)) - {"self"}) or _is_rate(event.target):
            continue
        if any(is_loaded(one) for one in ancestry(walk.trace.run, event.value)):
            return True
    return False
