"""Where the walks through a program begin: scripts and functions that reach a backward pass."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from stethoscope.program.index import Class, Function, Index, Module
from stethoscope.program.syntax import FunctionNode, children
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.effects import BACKWARD, Effects, effects, handed_names, hands_over_loss
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.values import Instance
from stethoscope.run import Source

MOST_WALKS = 24  # entries followed
MOST_ANCESTORS = 200


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """Where a walk begins, and the functions with a backward pass that it may reach."""

    start: Function | Module
    reaches: frozenset[Function]


def walk(run: Execution, start: Function | Module) -> bool:
    """Follow a script or function as far as the budget goes; say whether that was all of it."""
    is_made = True
    try:
        if isinstance(start, Module):
            run.enter_module(start)
        elif start.owner is None or "staticmethod" in start.decorators:
            run.enter(start)
        else:
            bound, is_made = _made(run, start.owner)
            run.enter(start, bound)
    except (Exhausted, RecursionError):
        return False  # what was met so far stands
    return is_made


def _made(run: Execution, cls: Class) -> tuple[Instance, bool]:
    """An object to follow a method of; one that nothing is known of, where making it would use all up."""
    met, steps = len(run.events), run.steps
    run.steps = steps // 2
    try:
        made = run.make(cls)
    except (Exhausted, RecursionError):
        del run.events[met:]
        run.steps = steps - steps // 2
        return Instance(cls, {}, {}, True), False
    run.steps += steps - steps // 2
    return made, True


def training_entries(index: Index, most: int = MOST_WALKS) -> Iterator[Entry]:
    """Scripts and outermost callers first: they know what they hand to the functions inside."""
    known = effects(index)
    targets = sorted(known.minimising, key=lambda function: (function.source.file, function.node.lineno))
    height: dict[Function, int] = {}
    below: dict[Function, set[Function]] = {}
    makers = {function.qualified: function for function in index.functions}
    for target in targets:
        for ancestor, distance in _ancestors(target, known, makers).items():
            height[ancestor] = max(height.get(ancestor, 0), distance)
            below.setdefault(ancestor, set()).add(target)
    named = {name: function for function in below for name in _called_as(function, known)}
    defined = frozenset(function.name for function in index.functions)
    scripts = [
        entry
        for module in index.modules.values()
        if (entry := _script(module, below, named, defined)) is not None
    ]
    inside = sorted(height, key=lambda function: -height[function])
    entries = [*scripts, *(Entry(function, frozenset(below[function])) for function in inside)]
    direct = [Entry(target, frozenset({target})) for target in targets]
    yield from outside_tests(entries)[:most]
    yield from outside_tests(direct)[:most]


def outside_tests(entries: Sequence[Entry]) -> Sequence[Entry]:
    """The entries that are no tests of the project; where there are only tests, these."""
    return [entry for entry in entries if not is_test(entry.start.source)] or entries


def is_test(source: Source) -> bool:
    """Whether a file tests the project: what trains there is no run of anyone's."""
    return _is_of_tests(source.file)


@lru_cache(maxsize=16_384)
def _is_of_tests(path: str) -> bool:
    *folders, file = path.replace("\\", "/").split("/")
    if file.startswith("test_") or file.endswith("_test.py") or file == "conftest.py":
        return True
    return any(folder in {"tests", "test_utils", "testing"} for folder in folders)


def _ancestors(target: Function, known: Effects, makers: Mapping[str, Function]) -> dict[Function, int]:
    """The functions that may call the target, directly or not, with their distance."""
    found = {target: 0}
    waiting = [target]
    while waiting and len(found) < MOST_ANCESTORS:
        current = waiting.pop(0)
        callers = [caller for name in _called_as(current, known) for caller in known.callers.get(name, ())]
        # What is defined inside a function is called there, or by whoever gets it from there.
        around = makers.get(current.qualified.rpartition(".")[0])
        # What nobody calls by its name is called by what it is handed to.
        handing = known.handing.get(current.name, ()) if not callers else ()
        for caller in (*callers, *handing, *([around] if around is not None else ())):
            if caller not in found:
                found[caller] = found[current] + 1
                waiting.append(caller)
    return found


def _called_as(function: Function, known: Effects) -> tuple[str, ...]:
    """The names under which a function is called: an object's by its class and by what it is kept under."""
    if function.name in {"__init__", "__call__", "forward"} and function.owner is not None:
        kept = known.names_of.get(function.owner.name, ()) if function.name == "__call__" else ()
        return (function.owner.name, *kept)
    return (function.name,)


def _script(
    module: Module,
    below: Mapping[Function, set[Function]],
    names: Mapping[str, Function],
    defined: frozenset[str],
) -> Entry | None:
    """A module whose own statements train, or call something that does."""
    closures = {function.node: found for function, found in below.items() if function.owner is None}
    # What a function of the program is told of as it is defined, `@bus.on("batch")`, is called from there.
    told = {function.node for function in below if _is_handed_over(function, defined)}
    closures = {
        node: found for node, found in closures.items() if node in told or node not in module.source.tree.body
    }
    reaches: set[Function] = set()
    trains = False
    for node in statement_nodes(module.source.tree):
        if isinstance(node, FunctionNode):
            reaches |= closures.get(node, set())
        elif isinstance(node, ast.Call):
            name = bare_name(node)
            trains = trains or name in BACKWARD or hands_over_loss(node)
            for called in (name, *handed_names(node)):
                reaches |= below[names[called]] if called in names else set()
    return Entry(module, frozenset(reaches)) if reaches or trains else None


def _is_handed_over(function: Function, defined: frozenset[str]) -> bool:
    """Whether a decorator that is called with something, of the program itself, gets a function."""
    return any(
        isinstance(one, ast.Call) and bare_name(one) in defined for one in function.node.decorator_list
    )


def statement_nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """What a module does itself, without what is inside its functions and classes."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, FunctionNode | ast.ClassDef):
            waiting.extend(children(node))
