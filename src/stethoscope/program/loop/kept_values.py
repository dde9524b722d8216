"""What a loop keeps from one round to the next: running sums, and lists that grow."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.begun_averages import begun_average_of
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.events import Assignment, Call, Event, Scope
from stethoscope.program.walk.values import Applied, Choice, Constant, Items, Value

GROWING = frozenset({"append", "appendleft", "add", "insert"})
GATHERING = frozenset({"list", "tuple", "deque", "sum"})


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """A value that is added to something that outlives the round.

    `name` is what it is added to, `written` the expression that is kept, `container` the list if it is one.
    """

    event: Assignment | Call
    value: Value
    name: str
    written: ast.expr
    container: Value | None = None


def kept_values(events: Sequence[Event]) -> Iterator[Kept]:
    """Each value that the events of a round add to what the round did not begin."""
    events = tuple(events)
    averages = {id(event): kept for event in events if (kept := begun_average(event)) is not None}
    yield from averages.values()
    begun = {p for event in events if _begins(event) and id(event) not in averages for p in _places(event)}
    counters = _counters(events)
    for event in events:
        if id(event) in averages:
            continue
        if isinstance(event, Assignment):
            kept = _added(event, counters)
        elif isinstance(event, Call):
            kept = _appended(event)
        else:
            continue
        if kept is None or begun.intersection((name, _owner(event)) for name in (kept.name, _holder(kept))):
            continue
        yield kept


def begun_average(event: Event) -> Kept | None:
    """`self.mean = loss` of the first round, where later rounds add to it: `self.mean = m * self.mean + ...`.

    A walk meets the first round; the place that is pointed at is where the later ones add.
    """
    found = begun_average_of(event)
    if found is None:
        return None
    adding, added = found
    return Kept(adding, adding.value, ast.unparse(adding.target), added)


def _holder(kept: Kept) -> str:
    """The variable that holds what is added to: `out` of `out["loss"] += x`."""
    node: ast.expr | None = kept.event.target if isinstance(kept.event, Assignment) else None
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else kept.name


def _begins(event: Event) -> bool:
    """Whether an assignment starts its target anew."""
    return isinstance(event, Assignment) and not event.operator and _added(event) is None


def _places(event: Event) -> Iterator[tuple[str, object]]:
    """What an assignment gives a value to: `count, total = 0, 0` are two."""
    assert isinstance(event, Assignment)
    target = event.target
    for one in target.elts if isinstance(target, ast.Tuple | ast.List) else (target,):
        yield ast.unparse(one), _owner(event)


def _owner(event: Event) -> object:
    """Attributes belong to a class, names to a function."""
    inside = event.within[-1] if event.within else None
    return (inside.owner or inside) if inside is not None else None


def _added(event: Assignment, counters: frozenset[str] = frozenset()) -> Kept | None:
    """`total += x`, `total = total + x`, `average = 0.9 * average + 0.1 * x`, `losses[step] = x`."""
    target = ast.unparse(event.target)
    node = event.site.node
    if event.operator == "+" and isinstance(node, ast.AugAssign):
        return Kept(event, event.value, target, node.value)
    if isinstance(event.target, ast.Subscript) and not event.operator and isinstance(node, ast.expr):
        return _put_under_count(event, event.target, node, counters)
    for value in event.value.options if isinstance(event.value, Choice) else (event.value,):
        if not isinstance(value, Applied) or value.callee != "+" or len(value.args) != 2:
            continue
        made = value.site.node
        if not isinstance(made, ast.BinOp) or not any(made is inner for inner in all_nodes(node)):
            continue
        if _mentions(made.left, target):
            return Kept(event, value.args[1], target, made.right)
        if _mentions(made.right, target):
            return Kept(event, value.args[0], target, made.left)
    return None


def _mentions(node: ast.expr, target: str) -> bool:
    """`total`, `0.9 * total`; what is called or taken out of it may be something else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _mentions(node.left, target) or _mentions(node.right, target)
    return ast.unparse(node) == target


def _put_under_count(
    event: Assignment, target: ast.Subscript, node: ast.expr, counters: frozenset[str]
) -> Kept | None:
    """`losses[step] = loss`, where the key is another one in each round."""
    if isinstance(target.slice, ast.Name) and target.slice.id in counters:
        return Kept(event, event.value, ast.unparse(target.value), node)
    return None


def _counters(events: Sequence[Event]) -> frozenset[str]:
    """The names that rounds count with: what loops run over, and what is added to."""
    found: set[str] = set()
    for event in events:
        match event:
            case Assignment(target=ast.Name(id=name), value=Constant(), operator=str() as how) if how:
                found.add(name)
        for scope in event.scopes():
            header = scope.node if scope.kind == "loop" else None
            if isinstance(header, ast.For) and isinstance(header.iter, ast.Call):
                called = header.iter.func
                first = header.target.elts[0] if isinstance(header.target, ast.Tuple) else header.target
                counts = isinstance(called, ast.Name) and called.id in {"range", "enumerate"}
                if counts and isinstance(first, ast.Name):
                    found.add(first.id)
    return frozenset(found)


def _appended(call: Call) -> Kept | None:
    node = call.site.node
    if call.name not in GROWING or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if not node.args or not call.args or _is_bounded(call.receiver):
        return None
    container = call.receiver if isinstance(call.receiver, Items) else None
    return Kept(call, call.args[-1], ast.unparse(node.func.value), node.args[-1], container)


def _is_bounded(receiver: Value | None) -> bool:
    """`deque(maxlen=n)` lets go of what is old; an object of some class does what it likes."""
    if isinstance(receiver, Applied):
        return (
            "maxlen" in receiver.keywords or len(receiver.args) > 1 or not receiver.callee.endswith("deque")
        )
    return False


def gathered(events: Sequence[Event]) -> Iterator[Kept]:
    """What is kept of the rounds of a generator: `list(batches())`, `[x for x in batches()]`, or a loop over
    it that adds each to something.
    """
    rounds: dict[Scope, list[Event]] = {}
    for event in events:
        for scope in event.scopes():
            if scope.kind == "loop" and isinstance(scope.value, Items):
                rounds.setdefault(scope, []).append(event)
        if not isinstance(event.site.node, ast.ListComp) or _is_of_a_stream(event.site.node):
            yield from collected(event)
    for inside in rounds.values():
        yield from kept_values(inside)


def collected(event: Event) -> Iterator[Kept]:
    """What a comprehension or `list(...)` puts together."""
    node = event.site.node
    if isinstance(event, Assignment) and isinstance(node, ast.ListComp):
        yield from _each(event, event.value, ast.unparse(event.target), node)
    elif isinstance(event, Call) and isinstance(node, ast.Call):
        is_list = event.name in GATHERING and not event.keywords
        for given, written in zip(event.args, node.args, strict=False):
            if is_list or isinstance(written, ast.ListComp):
                yield from _each(event, given, ast.unparse(node), written)


def _is_of_a_stream(node: ast.ListComp) -> bool:
    """`[loss for loss in batches()]`: a comprehension over what a call gives one by one."""
    loops = [one.iter for one in node.generators]
    return any(
        isinstance(one, ast.Call) and bare_name(one) not in {"enumerate", "zip", "range"} for one in loops
    )


def _each(event: Assignment | Call, value: Value, name: str, written: ast.expr) -> Iterator[Kept]:
    if isinstance(value, Items):
        for item in value.items:
            yield Kept(event, item, name, written, value)


def is_emptied(kept: Kept) -> bool:
    """`del policy.log_probs[:]`, `self.losses.clear()`: what is kept goes when somebody is done with it."""
    last = kept.name.rpartition(".")[2]
    for node in all_nodes(kept.event.site.source.tree, ast.Delete, ast.Call):
        match node:
            case ast.Delete(targets=[ast.Subscript(value=held, slice=ast.Slice())]) if (
                dotted(held) is not None
            ):
                if (dotted(held) or "").rpartition(".")[2] == last:
                    return True
            case ast.Call(func=ast.Attribute(value=held, attr="clear")):
                if (dotted(held) or "").rpartition(".")[2] == last:
                    return True
    return False


def ends_with_epoch(kept: Kept) -> bool:
    """Whether what is kept goes into a list of one epoch: a variable that is begun between the epochs' loop
    and the batches', or by a function of one epoch.
    """
    function = kept.event.within[-1] if kept.event.within else None
    if not isinstance(kept.event, Call) or not kept.name.isidentifier():
        return False
    inside = list(itertools.takewhile(lambda scope: scope.kind != "call", kept.event.scopes()))
    loops = [scope.node for scope in inside if scope.kind == "loop"]
    begun = _begun_at(kept.name, function.node if function is not None else kept.event.site.source.tree)
    around = [loop for loop in loops if begun is not None and _holds(loop, begun)]
    if begun is None or len(loops) - len(around) < 1:
        return False
    if function is not None and any("epoch" in words(name) for name in (function.name, *function.parameters)):
        return True
    if len(loops) - len(around) > 1:
        return False  # the epochs and their batches, or parts that nobody can tell
    further = list(kept.event.scopes())[len(inside) :]
    return bool(around) or any(scope.kind == "loop" for scope in further)


def _begun_at(name: str, within: ast.AST) -> ast.stmt | None:
    """The one statement that begins a list under a name."""
    found = [
        node
        for node in all_nodes(within)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and any(_is_named(target, name) for target in _targets(node))
    ]
    return found[0] if found else None


def _targets(node: ast.Assign | ast.AnnAssign) -> Iterator[ast.expr]:
    """What a statement gives values to: `losses, scores = [], []` are two."""
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        yield from target.elts if isinstance(target, ast.Tuple | ast.List) else (target,)


def _is_named(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name


def _holds(loop: ast.AST, statement: ast.stmt) -> bool:
    return any(node is statement for node in all_nodes(loop))
