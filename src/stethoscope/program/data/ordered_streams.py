"""Generators of the program that hand out stored samples in their order, again and again.

`for rows in torch.arange(len(x)).split(size): yield x[rows]` inside `while True`, or anew in each epoch.
Batches of rows that are looked up by a list of places, or cut by `split`, are samples; a text or a series is
read by windows of one array.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from stethoscope.program.data.stored_order import MIXING, ON_PURPOSE, spoken_words
from stethoscope.program.data.training_data import around
from stethoscope.program.index import Class, Function
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.objective.array_statements import given_values
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.values import Applied, Choice, Delayed, FunctionValue, Items, Part, Site, Value

CUTTING = frozenset({"split", "chunk", "array_split", "tensor_split", "batched", "chunked"})
COUNTING = frozenset({"arange", "range"})
MOST_LOOKED = 40


def ordered_streams(loop: TrainingLoop) -> Iterator[Site]:
    """Where generators that a training loop draws from go through what is stored in its order."""
    is_repeated = len(around(loop)) > 1
    for function in {id(one.node): one for one in _generators(loop)}.values():
        goes = _goes_in_order(function)
        if goes is not None and (is_repeated or _never_ends(function)):
            yield Site(function.source, goes)


def _generators(loop: TrainingLoop) -> Iterator[Function]:
    """The functions that yield what the loop gets by `next` or goes through."""
    scopes = around(loop)
    inside = set(map(id, scopes))
    waiting: list[Value] = [scope.value for scope in scopes if scope.value is not None]
    waiting += (
        event.args[0]
        for event in loop.events
        if isinstance(event, Call) and event.name == "next" and event.args
        if any(id(scope) in inside for scope in event.scopes())
    )
    seen: set[int] = set()
    while waiting and len(seen) < MOST_LOOKED:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        match one:
            case Delayed(callee=FunctionValue(function=function), args=args):
                if any(isinstance(node, ast.Yield) for node in own_nodes(function.node)):
                    yield function
                waiting += args
            case Choice(options=options) | Items(items=options):
                waiting += options[:MOST_LOOKED]
            case Applied(args=args):
                waiting += args
            case Part(base=base):
                waiting.append(base)


@lru_cache(maxsize=512)
def _goes_in_order(function: Function) -> ast.For | None:
    """The loop of a generator that goes through the stored order, where nothing in its class mixes."""
    bodies = [function]
    if isinstance(function.owner, Class):
        bodies += function.owner.methods.values()
    on_purpose = ON_PURPOSE - {"stream", "streaming"}
    if any(map(_mixes, bodies)) or spoken_words(function.node) & on_purpose:
        return None
    given = given_values(own_nodes(function.node))
    for node in own_nodes(function.node):
        if isinstance(node, ast.For) and any(isinstance(one, ast.Yield) for one in all_nodes(node)):
            headers = _headers(node.iter)
            if headers and all(_is_cut_in_order(header, node, given) for header in headers):
                return node
    return None


def _mixes(function: Function) -> bool:
    return any(isinstance(node, ast.Call) and bare_name(node) in MIXING for node in own_nodes(function.node))


def _headers(node: ast.expr) -> list[ast.expr]:
    is_several = isinstance(node, ast.Call) and bare_name(node) in {"zip", "enumerate"}
    return list(node.args) if is_several and isinstance(node, ast.Call) else [node]


def _is_cut_in_order(header: ast.expr, loop: ast.For, given: dict[str, list[ast.expr]]) -> bool:
    """`arange(n).split(size)`, `order.split(size)` with such an order, `self.rows.split(size)`."""
    if not (isinstance(header, ast.Call) and bare_name(header) in CUTTING):
        return False
    is_method = isinstance(header.func, ast.Attribute) and bare_name(header) in {"split", "chunk"}
    whole: ast.expr | None = header.args[0] if header.args else None
    if is_method and isinstance(header.func, ast.Attribute) and ast.unparse(header.func.value) != "torch":
        whole = header.func.value
    if isinstance(whole, ast.Name):
        made = given.get(whole.id, [])
        whole = made[0] if len(made) == 1 else whole
    while isinstance(whole, ast.Call) and bare_name(whole) in {"list", "array", "tensor"} and whole.args:
        whole = whole.args[0]
    if isinstance(whole, ast.Call):
        return bare_name(whole) in COUNTING and _looks_up(loop)
    return isinstance(whole, ast.Attribute) and not _is_text(header)  # what an object stores


def _is_text(header: ast.Call) -> bool:
    """`line.split(",")`."""
    return any(isinstance(arg, ast.Constant) and isinstance(arg.value, str) for arg in header.args)


def _looks_up(loop: ast.For) -> bool:
    """Whether something is looked up at the places that a loop goes through."""
    names = {node.id for node in all_nodes(loop.target, ast.Name)}
    return any(
        isinstance(node, ast.Subscript) and getattr(node.slice, "id", None) in names
        for node in all_nodes(loop)
    )


@lru_cache(maxsize=512)
def _never_ends(function: Function) -> bool:
    """`while True: yield ...`."""
    return any(
        isinstance(node, ast.While) and any(isinstance(inner, ast.Yield) for inner in all_nodes(node))
        for node in own_nodes(function.node)
    )
