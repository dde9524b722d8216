"""Metrics that hold a prediction against what the network was fed, where training asks for something else."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.data.ingredients import has, ingredients, is_drawn, peeled
from stethoscope.program.evaluation.comparisons import Comparison, spoken_callee
from stethoscope.program.objective.orientation import spoken_name
from stethoscope.program.objective.probe import operands_of
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.minimised import Minimised
from stethoscope.program.walk.network_passes import comes_from_model, is_model_call
from stethoscope.program.walk.values import Applied, Constant, Delayed, Leaf, Part, Site, Value, inputs

BY_HAND = frozenset({"-", "()"})  # how far a prediction is from its input may be told beside the scores


@dataclass(frozen=True, slots=True, eq=False)
class AgainstInput:
    """A metric of a prediction and of what it was made from."""

    metric: str
    measured: Site
    fed: Site


def against_input(run: Execution, comparisons: Sequence[Comparison]) -> Iterator[AgainstInput]:
    """The metrics of an evaluation that compare with the network's first argument and with nothing else."""
    found: dict[str, list[AgainstInput | None]] = {}
    for comparison in comparisons:
        name = _name(comparison.value)
        fed = {key: site for one in comparison.predictions for key, site in _fed(run, one)}
        sites = [fed.get(_key(target)) for target in comparison.targets]
        is_input = sites[0] is not None and all(site is not None for site in sites)
        one = AgainstInput(name, comparison.value.site, sites[0]) if is_input and sites[0] else None
        found.setdefault(name, []).append(one)
    for name, seen in found.items():
        if name not in BY_HAND and all(seen):
            yield from (one for one in seen[:1] if one is not None)


def asks_for_something_else(found: Iterable[Minimised]) -> bool:
    """Whether training compares outputs with data, and never with what the network was fed."""
    asks = False
    for one in found:
        try:
            met = list(ingredients(one.run, one.sink.value, leading=_in_front_of_networks(one.run)))
            passes = [value for value in met if is_model_call(one.run.index, value)]
            calls = [value for value in passes if isinstance(value, Applied | Delayed)]
            fed = [peeled(arg) for value in calls for arg in _given(value)[:1]]
            targets = {_key(value) for value in met if not comes_from_model(one.run, value)}
            data = [value for value in met if isinstance(value, Leaf | Part) and _key(value) in targets]
            if any(_key(value) in targets or _is_made_from(one.run, value, targets) for value in fed):
                return False
        except (Exhausted, RecursionError):
            return False
        asks = asks or bool(fed and data)
    return asks


def _in_front_of_networks(run: Execution) -> Callable[[Value], Iterable[Value]]:
    return lambda value: () if is_model_call(run.index, value) else inputs(value)


def _is_made_from(run: Execution, fed: Value, targets: set[Hashable]) -> bool:
    """Whether all that an input was made from is held against outputs too, with no noise in between."""
    roots = [one for one in operands_of(run.index, fed) if not isinstance(one, Constant)]
    is_target = bool(roots) and all(_key(root) in targets for root in roots)
    return is_target and not has(run, fed, is_drawn)


def _fed(run: Execution, prediction: Value) -> Iterator[tuple[Hashable, Site]]:
    """What the networks behind a prediction were given first, unless they are given it twice."""
    for value in ingredients(run, prediction, leading=_in_front_of_networks(run)):
        if isinstance(value, Applied | Delayed) and is_model_call(run.index, value):
            given = [_key(one) for one in _given(value)]
            if given and given[0] not in given[1:]:
                yield given[0], value.site


def _given(value: Applied | Delayed) -> tuple[Value, ...]:
    """The arguments of a call, by position and then by name."""
    called = isinstance(value, Applied) and value.callee == "()"  # the callable stands first
    return (*value.args[1 if called else 0 :], *value.keywords.values())


def _key(value: Value) -> Hashable:
    """What makes two values the same data: parts by where they are taken from, if that is one place."""
    value = peeled(value)
    if isinstance(value, Part) and value.key != "*":
        return _key(value.base), value.key
    return id(value)


def _name(value: Applied | Delayed) -> str:
    if isinstance(value, Applied) and value.callee in BY_HAND:
        return value.callee
    return spoken_name(value) if isinstance(value, Delayed) else spoken_callee(value)
