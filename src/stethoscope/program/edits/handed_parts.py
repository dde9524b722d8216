"""An object made known where a fix needs it: by its name there, or handed in by all who call the function.

    def save(path, model): ...              save(path, self.model)

becomes, for an optimizer that only the caller knows,

    def save(path, model, optimizer): ...   save(path, self.model, optimizer=self.optimizer)
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from stethoscope.program.edits.call_edits import separator, with_keyword
from stethoscope.program.edits.known_names import name_at
from stethoscope.program.evaluation.evaluations import Walk, names_in
from stethoscope.program.index import External, Function, Index, Module, dotted
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Call, Event
from stethoscope.program.walk.values import Value, span_of
from stethoscope.run import Splice

CALLERS = 2  # how far up an object is looked for


@dataclass(frozen=True, slots=True)
class Handing:
    """A function that takes an object as a new parameter, and a call that hands it in as `name`."""

    function: Function
    call: Call
    parameter: str
    name: str


@dataclass(frozen=True, slots=True)
class Known:
    """What an object is called at a place, once it is handed in."""

    name: str
    handings: tuple[Handing, ...] = ()


def known_at(
    walk: Walk, value: Value | None, event: Event, parameter: str, callers: int = CALLERS
) -> Known | None:
    """The name of an object where an event takes place; handed in as `parameter` where it has none."""
    name = name_at(walk, value, event)
    if name:
        return Known(name)
    if value is None or not callers or not event.within:
        return None
    function = event.within[-1]
    if parameter in names_in(function.node) or parameter in function.parameters:
        return None
    calls = _calls_of(walk, function)
    handings: list[Handing] = []
    for call in calls:
        there = known_at(walk, value, call, parameter, callers - 1)
        if there is None:
            return None
        handings += [*there.handings, Handing(function, call, parameter, there.name)]
    return Known(parameter, tuple(handings)) if handings else None


def _calls_of(walk: Walk, function: Function) -> tuple[Call, ...]:
    """Every call of a function, once each; none where there may be one that was not followed."""
    found: dict[int, Call] = {}
    for event in walk.trace.events:
        if function in event.within:
            for scope in event.scopes():
                call = walk.call_of(scope) if scope.node is function.node else None
                if call is not None:
                    found[id(call.site.node)] = call
    index = walk.trace.run.index
    written = (
        node
        for source in index.program
        for node in all_nodes(source.tree, ast.Call)
        if _may_call(index, index.module_of(source), node, function)
    )
    return tuple(found.values()) if all(id(node) in found for node in written) else ()


def _may_call(index: Index, module: Module, node: ast.Call, function: Function) -> bool:
    name = str(dotted(node.func) or getattr(node.func, "attr", ""))
    return name.rpartition(".")[2] == function.name and not isinstance(index.resolve(module, name), External)


def handed_in(handings: Iterable[Handing]) -> tuple[Splice, ...] | None:
    """The parameters and arguments that hand objects in; None where a place cannot take them."""
    parameters: dict[Function, list[str]] = {}
    told: dict[int, list[Splice | None]] = {}
    for one in dict.fromkeys(handings):
        names = parameters.setdefault(one.function, [])
        if one.parameter not in names:
            names.append(one.parameter)
        told.setdefault(id(one.call.site.node), []).append(_told(one))
    found = [_with_parameters(function, names) for function, names in parameters.items()]
    found += [_joined(splices) for splices in told.values()]
    made = tuple(one for one in found if one is not None)
    return made if len(made) == len(found) else None


def _told(handing: Handing) -> Splice | None:
    node = handing.call.site.node
    if not isinstance(node, ast.Call):
        return None
    return with_keyword(handing.call.site.source, node, handing.parameter, handing.name)


def _joined(splices: list[Splice | None]) -> Splice | None:
    """What is added at one place, as one splice."""
    first = splices[0]
    texts = [one.text for one in splices if one is not None]
    if first is None or len(texts) < len(splices):
        return None
    return Splice(first.file, first.start, first.end, "".join(texts))


def _with_parameters(function: Function, names: list[str]) -> Splice | None:
    """A function that takes further parameters, by name where others have defaults."""
    spec, source = function.node.args, function.source
    parameters = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    written = [*parameters, *spec.defaults, *filter(None, spec.kw_defaults)]
    spans = [span for one in written if (span := span_of(source, one)) is not None]
    if spec.vararg or spec.kwarg or not parameters or len(spans) < len(written):
        return None
    end = max(span[1] for span in spans)
    begin = spans[len(parameters) - 1][0]
    by_name = "*, " if spec.defaults and not spec.kwonlyargs else ""
    return Splice(source.file, end, end, f"{separator(source, begin)}{by_name}{', '.join(names)}")
