"""Batches that functions and classes of the repository make in a fixed order, as they are told to."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stethoscope.program.data.data_order import SHUFFLING
from stethoscope.program.data.ordered_indices import looked_up_in_order
from stethoscope.program.data.ordered_streams import ordered_streams
from stethoscope.program.data.stored_order import cut_in_order, is_of_one_batch
from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.loop.training_loop import TrainingLoop, training_loops
from stethoscope.program.loop.whole_trainings import searches_for_samples
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import FunctionNode, all_nodes, own_nodes
from stethoscope.program.walk.events import Call, Scope
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Part,
    Site,
    Value,
)

MOST_LOOKED = 60
SWITCHES = frozenset({"shuffle", "shuffled", "randomize", "randomise", "random_order", "permute"})


@dataclass(frozen=True, slots=True, eq=False)
class OrderedBatches:
    """Where batches of training are made, and the switch for a random order that is off there, if any."""

    site: Site
    switch: str


@remembered
def ordered_batches(index: Index, settings: SettingsTree) -> tuple[OrderedBatches, ...]:
    """What training loops go through that could be shuffled, and neither it nor the loop does so."""
    found: dict[int, OrderedBatches] = {}
    for loop in training_loops(index, settings):
        if searches_for_samples(loop):
            continue
        for site in (*cut_in_order(loop, index), *_streamed(loop), *_looked_up(loop)):
            found.setdefault(id(site.node), OrderedBatches(site, ""))
        for scope in loop.loops:
            for made in (*_in_order(scope.value, loop), *_written_in_order(scope, index)):
                if not _is_shuffled_around(loop):
                    found.setdefault(id(made.site.node), made)
    return tuple(found.values())


def _looked_up(loop: TrainingLoop) -> Iterator[Site]:
    for site in looked_up_in_order(loop):
        around = [one.node for one in loop.loops if any(inner is site.node for inner in all_nodes(one.node))]
        if not any(isinstance(one, ast.For) and is_of_one_batch(one, loop) for one in around):
            yield site


def _streamed(loop: TrainingLoop) -> Iterator[Site]:
    return ordered_streams(loop) if not _is_shuffled_around(loop) else iter(())


def _in_order(value: Value | None, loop: TrainingLoop) -> Iterator[OrderedBatches]:
    waiting, seen = [value], set[int]()
    while waiting and len(seen) < MOST_LOOKED:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        match one:
            case Delayed(callee=FunctionValue(function=function, bound=bound)):
                switch = _switch_off(function, one.args, one.keywords, bound=bound is not None)
                if switch is not None and _could_shuffle(function.node, switch):
                    yield OrderedBatches(one.site, switch)
                waiting += [*one.args, *one.keywords.values(), bound]
            case Instance(cls=cls):
                site = _made_at(one, loop) if loop.run.index.method(cls, "__iter__") is not None else None
                off = [switch for switch in SWITCHES if _is_off(one.made_with.get(switch))]
                if site is not None:
                    bodies = [method.node for method in cls.methods.values()]
                    known = (switch for switch in off if any(_could_shuffle(body, switch) for body in bodies))
                    yield from (OrderedBatches(site, switch) for switch in known)
            case Choice(options=options):
                waiting += options
            case Applied(callee=callee, args=args) if callee.rpartition(".")[2] in {"tqdm", "list", "iter"}:
                waiting += args[:1]
            case Applied(callee="enumerate" | "zip", args=args):
                waiting += args
            case Part(base=base, key="*"):
                waiting.append(base)


def _written_in_order(scope: Scope, index: Index) -> Iterator[OrderedBatches]:
    """The same of a call that stands in the head of the loop, whose result was followed item by item."""
    for node in all_nodes(scope.node.iter) if isinstance(scope.node, ast.For) else ():
        function = None
        if isinstance(node, ast.Call):
            function = index.resolve(index.module_of(scope.source), dotted(node.func) or "")
        if not isinstance(function, Function) or not isinstance(node, ast.Call):
            continue
        given = dict(zip(function.parameters, node.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
        for switch in SWITCHES & given.keys():
            value = given[switch]
            is_off = isinstance(value, ast.Constant) and value.value is False
            if is_off and _could_shuffle(function.node, switch):
                yield OrderedBatches(Site(scope.source, node), switch)


def _switch_off(
    function: Function, args: tuple[Value, ...], keywords: Mapping[str, Value], *, bound: bool
) -> str | None:
    """The switch among a function's parameters that a call puts off."""
    names = function.parameters[1:] if bound else function.parameters
    given = {**dict(zip(names, args, strict=False)), **keywords}
    return next((name for name in SWITCHES if name in names and _is_off(given.get(name))), None)


def _is_off(value: Value | None) -> bool:
    return isinstance(value, Constant) and value.value is False


def _could_shuffle(node: FunctionNode, switch: str) -> bool:
    """Whether a function shuffles under the condition of its switch."""
    for inner in own_nodes(node):
        if isinstance(inner, ast.If | ast.IfExp) and switch in ast.unparse(inner.test):
            calls = (one for one in all_nodes(inner, ast.Call))
            if any((dotted(one.func) or "").rpartition(".")[2] in SHUFFLING for one in calls):
                return True
    return False


def _made_at(made: Instance, loop: TrainingLoop) -> Site | None:
    """The call that made an object: one that was given what the object was made with."""
    parts = {id(value) for value in made.made_with.values()}
    for event in loop.trace.events:
        if isinstance(event, Call) and (event.name or "").rpartition(".")[2] == made.cls.name:
            given = [*event.args, *event.keywords.values()]
            if given and all(id(value) in parts for value in given):
                return event.site
    return None


def _is_shuffled_around(loop: TrainingLoop) -> bool:
    """Whether anything is shuffled while the loop goes round."""
    around = set(map(id, loop.loops))
    return any(
        isinstance(event, Call)
        and (event.name or "").rpartition(".")[2] in SHUFFLING
        and any(id(scope) in around for scope in event.scopes())
        for event in loop.trace.events
    )
