"""Training that goes past the wrapper which averages gradients over the ranks.

A walk takes a wrapped network for the network itself, so which of the two is run is read off what is written:
names are followed to the assignments and arguments that they come from.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from stethoscope.program.evaluation.evaluations import Walk, called_network
from stethoscope.program.index import Function, dotted
from stethoscope.program.loop.answers_in_rounds import same_in_all_rounds
from stethoscope.program.loop.loop_order import questions
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.roles import Role, role_by_name
from stethoscope.program.loop.training_loop import TrainingLoop, condition, training_loops
from stethoscope.program.ranks.decisions import Ranks
from stethoscope.program.syntax import FunctionNode, all_nodes, blocks, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.events import Call, Event, Scope
from stethoscope.program.walk.networks import is_same_network
from stethoscope.program.walk.values import Choice, Site, Value

WRAPPERS = ("DistributedDataParallel", "DDP")
UNWRAPPING = frozenset({"unwrap_model", "unwrap", "unwrap_ddp", "get_raw_model"})
DEPTH = 8  # names followed to where they come from


class Way(Enum):
    """How a network is run: through its wrapper, or past it."""

    THROUGH = auto()
    PAST = auto()


@dataclass(frozen=True, slots=True, eq=False)
class RunPast:
    """A run of the bare network whose gradients train, and the wrapper that should have been run."""

    run: Site
    written: str
    wrapper: Site


def runs_past_wrapper(ranks: Ranks) -> Iterator[RunPast]:
    """The trained runs of networks that no run through their wrapper accompanies."""
    walk = ranks.walk
    wrapped = [event for event in walk.trace.events if isinstance(event, Call) and _wraps(event.site.node)]
    if not wrapped or _averages_by_hand(ranks):
        return
    met = (event for event in walk.trace.events if isinstance(event, Call) and id(event) in walk.trained)
    trained = [(called_network(Move(Kind.FORWARD, event)), *_way(walk, event)) for event in met]
    seen: set[ast.AST] = set()
    for network, way, call in trained:
        if way is not Way.PAST or call is None or call.site.node in seen:
            continue
        others = (other for one, other, _ in trained if is_same_network(one, network))
        if Way.THROUGH in others:
            continue
        seen.add(call.site.node)
        written = ast.unparse(call.site.node.func) if isinstance(call.site.node, ast.Call) else call.name
        yield RunPast(call.site, written, wrapped[0].site)


def never_synchronised(ranks: Ranks) -> Iterator[tuple[Site, Scope]]:
    """Backward passes that no update shares with the other ranks, with the context around them.

    Every one is inside `no_sync()`, or inside what is `no_sync()` in the rounds that update weights.
    """
    backward = [
        move.event
        for move in ranks.walk.moves
        if move.kind is Kind.BACKWARD and not _is_in_no_round(move.event)
    ]
    held = [next((scope for scope in event.scopes() if _is_context(scope)), None) for event in backward]
    if not backward or None in held or _averages_by_hand(ranks):
        return
    around = [(event, scope) for event, scope in zip(backward, held, strict=True) if scope is not None]
    if all(_is_no_sync(scope) or _is_it_in_updates(ranks, event, scope) for event, scope in around):
        yield around[0][0].site, around[0][1]


def _is_in_no_round(event: Event) -> bool:
    """Whether a condition around an event is met in none of the rounds that it asks for."""
    asked = [scope for scope in event.scopes() if scope.kind == "if"]
    return any(_answer_in_all_rounds(scope) is (not scope.arm) for scope in asked)


def _is_context(scope: Scope) -> bool:
    return scope.kind == "with" and (_is_no_sync(scope) or _chosen_context(scope) is not None)


def _is_no_sync(scope: Scope) -> bool:
    """`with model.no_sync():`, and not one that is told or chosen round by round whether to act."""
    if scope.kind != "with" or _bare(scope.node) != "no_sync" or not isinstance(scope.node, ast.Call):
        return False
    return not (scope.node.args or scope.node.keywords) and not _is_chosen(scope.value)


def _is_it_in_updates(ranks: Ranks, event: Event, scope: Scope) -> bool:
    """Whether a chosen context is `no_sync()` in every round that updates weights."""
    chosen = _chosen_context(scope)
    if chosen is None:
        return False
    question, answer = condition(chosen)
    loops = _loops_with(ranks, event)
    updates = [(loop, move.event) for loop in loops for move in loop.moves if move.updates]
    if not updates:
        return False
    if all((question, answer) in questions(loop, update) for loop, update in updates):
        return True
    if _answer_in_all_rounds(chosen) is chosen.arm:
        return True
    return all(_is_the_same_in_all_rounds(loop, chosen.node) for loop in loops)


def _answer_in_all_rounds(asked: Scope) -> bool | None:
    """What is answered to a question about the number of a round, where it is the same in each of them."""
    test = _written_as(asked)
    loops = [scope.node for scope in asked.outwards() if scope.kind == "loop"]
    return same_in_all_rounds(test, loops) if isinstance(test, ast.expr) else None


def _chosen_context(scope: Scope) -> Scope | None:
    """The condition, and its answer, for which `a if test else b` enters `no_sync()`."""
    written = _written_as(scope)
    if not isinstance(written, ast.IfExp):
        return None
    arms = [
        _bare(arm) == "no_sync" and not getattr(arm, "args", ()) for arm in (written.body, written.orelse)
    ]
    other = written.orelse if arms[0] else written.body
    if arms[0] is arms[1] or _bare(other) not in {"nullcontext", "suppress", "ExitStack"}:
        return None
    return Scope("if", written.test, scope.source, scope, None, arms[0])


def _written_as(scope: Scope) -> ast.AST:
    """What a scope asks or enters, a name by the one assignment to it in the function or file around."""
    if not isinstance(scope.node, ast.Name):
        return scope.node
    outer = next((one.node for one in scope.outwards() if isinstance(one.node, FunctionNode)), None)
    nodes = own_nodes(outer) if isinstance(outer, FunctionNode) else tuple(_top(scope.source.tree))
    given = [
        one.value
        for one in nodes
        if isinstance(one, ast.Assign) and any(ast.unparse(to) == scope.node.id for to in one.targets)
    ]
    return given[0] if len(given) == 1 else scope.node


def _loops_with(ranks: Ranks, event: Event) -> list[TrainingLoop]:
    trace = ranks.walk.trace
    loops = training_loops(trace.run.index, trace.run.settings)
    return [loop for loop in loops if any(move.event.site.node is event.site.node for move in loop.moves)]


def _is_the_same_in_all_rounds(loop: TrainingLoop, test: ast.AST) -> bool:
    """Whether nothing that a loop does changes the answer to a question about plain values."""
    if (
        loop.body is None
        or loop.body.kind != "loop"
        or any(isinstance(one, ast.Call) for one in all_nodes(test))
    ):
        return False
    names = {one.id for one in all_nodes(test, ast.Name)}
    outer = [scope.node for scope in loop.body.outwards() if scope.kind == "loop"]
    changed = {
        one.id for node in outer for one in all_nodes(node, ast.Name) if isinstance(one.ctx, ast.Store)
    }
    stored = {
        one.attr
        for function in loop.run.index.functions
        if function.name not in {"__init__", "__post_init__"}
        for one in own_nodes(function.node, ast.Attribute)
        if isinstance(one.ctx, ast.Store)
    }
    attributes = {one.attr for one in all_nodes(test, ast.Attribute)}
    is_compared = isinstance(test, ast.Compare)
    return is_compared and not names & changed and not attributes & stored


def _is_chosen(value: Value | None) -> bool:
    return isinstance(value, Choice)


def _bare(node: ast.AST) -> str:
    """The last name of a call, "" for anything else."""
    return bare_name(node) if isinstance(node, ast.Call) else ""


def _wraps(node: ast.AST) -> bool:
    return _bare(node) in WRAPPERS


def _averages_by_hand(ranks: Ranks) -> bool:
    """Whether gradients are reduced by the program itself: `dist.all_reduce(p.grad)`."""
    reducing = (call for call in ranks.collectives if "reduce" in call.name)
    return any("grad" in text for call in reducing for text in (call.site.text, *_functions_around(call)))


def _functions_around(event: Event) -> Iterator[str]:
    return (function.name for function in event.within)


def _way(walk: Walk, event: Call) -> tuple[Way | None, Call | None]:
    """Whether a run goes through the wrapper or past it, and the call that decides it."""
    for call in _chain(walk, event):
        node = call.site.node
        if not isinstance(node, ast.Call):
            continue
        for written in _bases(node.func):
            way = _of(walk, written, call, DEPTH)
            if way is not None:
                return way, call
    return None, None


def _chain(walk: Walk, event: Call) -> Iterator[Call]:
    """The call of the network and the calls that led to it, innermost first."""
    yield event
    for scope in event.scopes():
        if scope.kind == "call":
            call = walk.call_of(scope)
            if call is not None:
                yield call


def _bases(func: ast.expr) -> Iterator[ast.expr]:
    """What is called, or whose method is: `net(x)`, `net.forward(x)`, `net.module.loss(x)`."""
    yield func
    if isinstance(func, ast.Attribute):
        yield func.value


def _of(walk: Walk, written: ast.expr, event: Event, depth: int) -> Way | None:
    """What an expression stands for at an event."""
    if depth == 0:
        return None
    match written:
        case ast.Attribute(value=base, attr="module"):
            return None if _is_average(base) else Way.PAST
        case ast.Call():
            return _of_call(walk, written, event, depth)
        case ast.IfExp(body=body, orelse=other):
            if _has_wrapper(written):
                return Way.THROUGH  # where there are several processes
            ways = {_of(walk, body, event, depth - 1), _of(walk, other, event, depth - 1)}
            return Way.PAST if Way.PAST in ways else Way.THROUGH if Way.THROUGH in ways else None
        case ast.Name(id=name):
            return _of_name(walk, name, event, depth)
        case ast.Attribute(value=ast.Name(id="self")):
            return _of_attribute(walk, written, event, depth)
    return None


def _is_average(base: ast.expr) -> bool:
    return role_by_name((dotted(base) or "").rpartition(".")[2]) is Role.AVERAGE


def _of_call(walk: Walk, call: ast.Call, event: Event, depth: int) -> Way | None:
    if _wraps(call):
        return Way.THROUGH
    if bare_name(call) in UNWRAPPING:
        return Way.PAST
    if bare_name(call) in {"to", "cuda", "train", "eval", "compile"}:
        inner = (
            call.args[0] if bare_name(call) == "compile" and call.args else getattr(call.func, "value", None)
        )
        return _of(walk, inner, event, depth - 1) if inner is not None else None
    return None


def _of_name(walk: Walk, name: str, event: Event, depth: int) -> Way | None:
    function = event.within[-1] if event.within else None
    body = function.node if function is not None else event.site.source.tree
    way = _of_stored(walk, ast.Name(id=name), body, event, depth)
    if way is not None or function is None:
        return way
    if name in function.parameters:
        return _of_parameter(walk, name, function, event, depth)
    return _of_stored(walk, ast.Name(id=name), event.site.source.tree, event, depth)


def _of_parameter(walk: Walk, name: str, function: Function, event: Event, depth: int) -> Way | None:
    """What the call that led into a function gave for a parameter."""
    scope = next((one for one in event.scopes() if one.kind == "call" and one.node is function.node), None)
    call = walk.call_of(scope) if scope is not None else None
    node = call.site.node if call is not None else None
    if call is None or not isinstance(node, ast.Call):
        return None
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    parameters = [one for one in function.parameters if one not in {"self", "cls"}]
    given |= dict(zip(parameters, node.args, strict=False))
    return _of(walk, given[name], call, depth - 1) if name in given else None


def _of_attribute(walk: Walk, written: ast.Attribute, event: Event, depth: int) -> Way | None:
    owner = event.within[-1].owner if event.within else None
    if owner is None:
        return None
    for cls in walk.trace.run.index.lineage(owner):
        for method in cls.methods.values():
            at = next((one for one in walk.trace.events if one.within and one.within[-1] is method), event)
            way = _of_stored(walk, written, method.node, at, depth)
            if way is not None:
                return way
    return None


def _of_stored(walk: Walk, target: ast.expr, body: ast.AST, event: Event, depth: int) -> Way | None:
    """What is assigned to a name in a body; the bare network, where it is wrapped under another name."""
    text = ast.unparse(target)
    stored: list[ast.expr] = []
    nodes = own_nodes(body) if isinstance(body, FunctionNode) else _top(body)
    for node in nodes:
        if isinstance(node, ast.Assign):
            if any(ast.unparse(one) == text for one in node.targets):
                stored.append(node.value)
            elif _wraps(node.value) and _first(node.value) == text:
                stored.append(ast.Attribute(value=ast.Name(id="wrapper"), attr="module"))
    ways = {_of(walk, one, event, depth - 1) for one in stored if not _mentions(one, text)}
    ways |= {Way.THROUGH for one in stored if _mentions(one, text) and _has_wrapper(one)}
    return Way.THROUGH if Way.THROUGH in ways else Way.PAST if Way.PAST in ways else None


def _top(tree: ast.AST) -> Iterator[ast.AST]:
    """The statements of a file that are in no function or class."""
    for node in blocks(tree):
        for statement in node:
            if not isinstance(statement, FunctionNode | ast.ClassDef):
                yield statement
                yield from _top(statement)


def _first(call: ast.AST) -> str:
    """The network that a wrapper is made of."""
    if not isinstance(call, ast.Call):
        return ""
    given = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "module"), None)
    return ast.unparse(given) if given is not None else ""


def _mentions(node: ast.expr, text: str) -> bool:
    """`model = DDP(model)` and `model = model.to(device)` say of a name what it was before."""
    return any(
        isinstance(one, ast.Name | ast.Attribute) and ast.unparse(one) == text for one in all_nodes(node)
    )


def _has_wrapper(node: ast.expr) -> bool:
    return any(_wraps(one) for one in all_nodes(node))
