"""Difficulties that move with training and that an evaluation is made at, seen on the walks of a program.

A walk knows what a step function from a factory was given, which the function by itself does not tell.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from stethoscope.program.evaluation.evaluations import Evaluation, names_in, walks
from stethoscope.program.evaluation.followed_progress import DIFFICULTY, FIXED_DIFFICULTY, PROGRESS, Following
from stethoscope.program.index import Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.loop.roles import MODEL_WORDS
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.values import ClassValue, FunctionValue, Instance, LambdaValue, Outside, Value

SUMS = frozenset({"min", "max", "int", "round", "float", "len", "abs"})
CURRICULUM = re.compile(r"curricul|difficult|preschool|pacing", re.IGNORECASE)


@remembered
def moving_difficulties(index: Index, settings: SettingsTree) -> tuple[Following, ...]:
    """The difficulties that evaluations ask for by the progress of training."""
    found: dict[object, Following] = {}
    for walk in walks(index, settings):
        for evaluation in walk.evaluations:
            for following in _followings(index, evaluation):
                found.setdefault(following.where, following)
    return tuple(found.values())


def _followings(index: Index, evaluation: Evaluation) -> Iterator[Following]:
    forward = evaluation.forward.event
    region = {id(scope) for scope in evaluation.region}
    for event in evaluation.walk.trace.events[: evaluation.walk.place(forward)]:
        if not isinstance(event, Call) or not event.within or event.within[-1] not in forward.within:
            continue
        inside = event.scope is not None and id(event.scope) in region
        if not _is_difficulty(event) or (not inside and event.within[-1] in _functions_of(evaluation)):
            continue
        progress = _progress(index, event)
        if progress and _is_measured(evaluation, event.site.node, event.within[-1], inside):
            function = evaluation.function or event.within[-1]
            yield Following(
                function.spoken,
                event.site.text.partition("\n")[0][:80],
                progress,
                event.site.where,
                forward.site.where,
            )


def _functions_of(evaluation: Evaluation) -> list[Function]:
    """The functions that do nothing but evaluate; what stands in another one may be for training."""
    nodes = {id(scope.node) for scope in evaluation.region if scope.kind == "call"}
    return [function for function in evaluation.forward.event.within if id(function.node) in nodes]


def _is_difficulty(call: Call) -> bool:
    node = call.site.node
    named = " ".join(names_in(node.func)) if isinstance(node, ast.Call) else ""
    if isinstance(call.callee, FunctionValue):
        named += " " + call.callee.function.spoken
        if _computes_difficulty(call.callee.function) and not FIXED_DIFFICULTY.search(named):
            return True
    if isinstance(call.callee, ClassValue | Outside):
        return False  # a curriculum that is made has not been asked for anything
    return bool(DIFFICULTY.search(named)) and not FIXED_DIFFICULTY.search(named)


def _computes_difficulty(function: Function) -> bool:
    """Whether a function does sums with settings of a curriculum: `longest = cfg.curriculum_epochs * ...`."""
    if not CURRICULUM.search(ast.unparse(function.node)):
        return False
    calls = (node for node in all_nodes(function.node, ast.Call))
    return all(isinstance(node.func, ast.Name) and node.func.id in SUMS for node in calls)


def _progress(index: Index, call: Call) -> str:
    """The name of the progress that a difficulty is asked for with, where what answers uses it."""
    node = call.site.node
    if not isinstance(node, ast.Call) or not _uses_parameters(index, call):
        return ""
    given = (*node.args, *(keyword.value for keyword in node.keywords))
    named = (name for arg in given for name in names_in(arg))
    # Steps and epochs in the plural are how many there will be.
    return next(
        (name for name in named if PROGRESS.match(name) and not name.endswith(("steps", "iters"))), ""
    )


def _uses_parameters(index: Index, call: Call) -> bool:
    """`lambda step: 1.0` is asked for a step and answers alike at all of them."""
    answering: Value | Function | None = call.callee
    if isinstance(call.receiver, Instance):
        answering = index.method(call.receiver.cls, call.name)
    if isinstance(answering, FunctionValue):
        answering = answering.function
    if not isinstance(answering, Function | LambdaValue):
        return True
    spec = answering.node.args
    own = {arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)} - {"self", "cls"}
    body = answering.node.body if isinstance(answering, Function) else [answering.node.body]
    return any(
        isinstance(node, ast.Name) and node.id in own for statement in body for node in all_nodes(statement)
    )


def _is_measured(evaluation: Evaluation, asked: ast.AST, function: Function, inside: bool) -> bool:
    """Whether the answer reaches what the network is given, or what the function gives back.

    In a function that trains as well, only what is handed to the evaluation as its data counts.
    """
    forward = evaluation.forward.event
    led = [evaluation.walk.call_of(scope) for scope in evaluation.region if scope.kind == "call"]
    calls = {forward.site.node, *(call.site.node for call in led if call is not None)}
    nodes = list(all_nodes(function.node))
    tainted: set[str] = set()
    grown = True
    while grown:
        grown = False
        for node in nodes:
            if isinstance(node, ast.Assign) and _has(node.value, asked, tainted):
                names = {n.id for t in node.targets for n in all_nodes(t, ast.Name)}
                grown = grown or not names <= tainted
                tainted |= names
    for node in nodes:
        given: list[ast.expr] = []
        if isinstance(node, ast.Call) and node in calls:
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            if not inside:
                given = [arg for arg in given if not _is_network_named(arg)]
        elif inside and isinstance(node, ast.Return) and node.value is not None:
            given = [node.value]
        if any(_has(value, asked, tainted) for value in given):
            return True
    return False


def _is_network_named(node: ast.expr) -> bool:
    return any(MODEL_WORDS.intersection(words(name)) for name in names_in(node))


def _has(node: ast.AST, asked: ast.AST, tainted: set[str]) -> bool:
    return any(n is asked or (isinstance(n, ast.Name) and n.id in tainted) for n in all_nodes(node))
