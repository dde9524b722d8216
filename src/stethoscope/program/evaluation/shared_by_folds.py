"""Networks that go on learning from one fold to the next, and are measured on what they have learned.

model = Net()
for train, held in KFold(5).split(x): fit(model, x[train]); score(model, x[held])
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

SPLITTERS = ("Fold", "LeaveOneOut", "LeaveOneGroupOut", "LeavePOut", "ShuffleSplit")
ANEW = frozenset(
    {
        "reset",
        "init",
        "reinit",
        "initialize",
        "initialise",
        "restore",
        "reload",
        "rebuild",
        "build",
        "reinitialize",
    }
)
DEPTH = 3  # calls that are looked into


@dataclass(frozen=True, slots=True, eq=False)
class SharedByFolds:
    """A loop over folds, the network that all of them train, and where it was made."""

    loop: Site
    made: Site
    name: str


@remembered
def shared_by_folds(index: Index) -> tuple[SharedByFolds, ...]:
    """Every network that is made before a loop over folds and trained in each round of it."""
    found = (
        one
        for function in index.bodies
        if not is_test(function.source)
        for loop in own_nodes(function.node, ast.For)
        if _is_over_folds(function, loop) and (one := _shared(index, function, loop)) is not None
    )
    return tuple(found)


def _is_over_folds(function: Function, loop: ast.For) -> bool:
    """`for train, held in folds.split(x)`, also numbered by `enumerate`."""
    made = {
        dotted(node.targets[0]) or "": bare_name(node.value)
        for node in all_nodes(function.source.tree, ast.Assign)
        if isinstance(node.value, ast.Call)
    }
    for call in all_nodes(loop.iter, ast.Call):
        if bare_name(call) == "split" and isinstance(call.func, ast.Attribute):
            splitter = call.func.value
            kind = (
                bare_name(splitter)
                if isinstance(splitter, ast.Call)
                else made.get(dotted(splitter) or "", "")
            )
            return kind.endswith(SPLITTERS)
    return False


def _shared(index: Index, function: Function, loop: ast.For) -> SharedByFolds | None:
    inside = [one for statement in loop.body for one in all_nodes(statement)]
    calls = [one for one in inside if isinstance(one, ast.Call)]
    if any(bare_name(one) in {"deepcopy", "load_state_dict"} for one in calls):
        return None
    reached = list(_reached(index, calls, DEPTH))
    if not any(bare_name(one) == "backward" for one in (*calls, *_calls_in(reached))):
        return None
    for name in dict.fromkeys(_networks(calls, reached)):
        made = _made_before(function, loop, name)
        if made is not None and not _is_made_anew(name, inside, reached):
            return SharedByFolds(Site(function.source, loop), Site(function.source, made), name)
    return None


def _reached(index: Index, calls: Sequence[ast.Call], depth: int) -> Iterator[Function]:
    """The functions of the program that are called, and those that they call."""
    named = {bare_name(one) for one in calls}
    for function in index.functions if depth else ():
        if function.name in named or (
            function.name == "__init__" and function.owner and function.owner.name in named
        ):
            yield function
            yield from _reached(index, own_nodes(function.node, ast.Call), depth - 1)


def _calls_in(functions: list[Function]) -> Iterator[ast.Call]:
    for function in functions:
        yield from own_nodes(function.node, ast.Call)


def _networks(calls: list[ast.Call], reached: list[Function]) -> Iterator[str]:
    """What is trained in a round, as the loop calls it: its parameters are stepped on, or it is handed on."""
    trained = {function.name: function for function in reached}
    for function in reached:
        held = {_holder(call) for call in own_nodes(function.node, ast.Call)}
        yield from sorted(one for one in held if one.startswith("self.") and _is_trained(function, one))
    for call in calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "parameters":
            yield dotted(call.func.value) or ""
        called = trained.get(bare_name(call))
        if called is not None:
            yield from (name for name, parameter in _placed(call, called) if _is_trained(called, parameter))


def _holder(call: ast.Call) -> str:
    return (dotted(call.func.value) or "") if isinstance(call.func, ast.Attribute) else ""


def _placed(call: ast.Call, function: Function) -> Iterator[tuple[str, str]]:
    """The names that a call hands over, with the parameters that get them."""
    parameters = [one for one in function.parameters if one not in {"self", "cls"}]
    yield from ((dotted(arg) or "", name) for name, arg in zip(parameters, call.args, strict=False))
    yield from ((dotted(word.value) or "", word.arg) for word in call.keywords if word.arg is not None)


def _is_trained(function: Function, parameter: str) -> bool:
    """Whether a function puts a parameter into training mode, in a body that goes backward."""
    calls = own_nodes(function.node, ast.Call)
    asked = {
        call.func.attr
        for call in calls
        if isinstance(call.func, ast.Attribute) and dotted(call.func.value) == parameter
    }
    return bool(asked & {"train", "parameters"}) and any(bare_name(call) == "backward" for call in calls)


def _made_before(function: Function, loop: ast.For, name: str) -> ast.AST | None:
    """Where a network is made outside of the loop; None where nothing or something else makes it."""
    first = name.partition(".")[0]
    if not name or first in {one.id for one in all_nodes(loop.target, ast.Name)}:
        return None
    scopes = [function.node]
    if name.startswith("self.") and function.owner is not None:
        scopes = [method.node for method in function.owner.methods.values()]
    stores = [
        node
        for scope in scopes
        for node in own_nodes(scope, ast.Assign)
        if any(dotted(target) == name for target in node.targets)
    ]
    within = {id(one) for one in all_nodes(loop)}
    return stores[0] if stores and not any(id(one) in within for one in stores) else None


def _is_made_anew(name: str, inside: list[ast.AST], reached: list[Function]) -> bool:
    """Whether a round may begin with other weights: by a new object, by a state that is read, by a reset."""
    nodes = [*inside, *(one for function in reached for one in own_nodes(function.node))]
    for node in nodes:
        if isinstance(node, ast.Assign) and any(dotted(one) == name for one in node.targets):
            return True
        called = bare_name(node) if isinstance(node, ast.Call) else ""
        if called in {"deepcopy", "load_state_dict", "apply"} or ANEW & set(words(called)):
            return True
    return any(
        isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store) for one in inside
    )
