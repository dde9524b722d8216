"""Objectives that do nothing but draw two outputs of one network together.

A constant answers such an objective best. What keeps a network from it is that one side stands still
(`detach`, a target network), that others are pushed away, or another term.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.data.ingredients import ingredients
from stethoscope.program.index import Function, Index
from stethoscope.program.likenesses import ANGLES
from stethoscope.program.objective.orientation import Contribution
from stethoscope.program.objective.taken_apart import Objective, allow_reading, objectives
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.minimised import Minimised
from stethoscope.program.walk.network_passes import detaches, is_model_call, is_network_pass
from stethoscope.program.walk.values import Applied, Delayed, FunctionValue, Site, Value

# What keeps outputs apart, or one side still.
_KEEPING = re.compile(
    r"(?i)detach|no_grad|stop_?grad|requires_grad|inference_mode|\.var\(|\.std\(|cov\b|cov\(|covariance|off_diag"
    r"|margin|negative|\bneg|contrast|queue|cross_?entropy|regular|whiten|sinkhorn|center|uniform|variance|decorrel"
    r"|barlow|vicreg|arange\(|\bema\b|momentum_|teacher|target_net|target_enc|label|recon|\bkl\b"
)

MOST_PASSES = 24  # passes of networks that are looked behind


@dataclass(frozen=True, slots=True, eq=False)
class LoneAttraction:
    """The likeness that is all there is to minimise, two passes of one network in it, and the sink."""

    likeness: Site
    first: Site
    second: Site
    sink: Site


@remembered
def lone_attractions(index: Index, settings: SettingsTree) -> tuple[LoneAttraction, ...]:
    """The objectives of a program that a constant network answers best."""
    found: dict[int, LoneAttraction] = {}
    for objective in objectives(index, settings):
        allow_reading(objective.one.run)
        try:
            attraction = _judged(objective)
        except (Exhausted, RecursionError):
            continue
        if attraction is not None:
            found.setdefault(id(attraction.likeness.node), attraction)
    return tuple(list(found.values())[:1])


def _judged(objective: Objective) -> LoneAttraction | None:
    one, terms = objective.one, objective.contributions
    if not terms or not all(term.net < 0 and term.kind in ANGLES for term in terms):
        return None
    passes = [found for term in terms if (found := _two_passes(one.run, term)) is not None]
    if len(passes) != len(terms) or _is_kept_apart(one, passes):
        return None
    first, second = passes[0]
    return LoneAttraction(terms[0].value.site, first.site, second.site, one.sink.site)


Pass = Applied | Delayed


def _two_passes(run: Execution, term: Contribution) -> tuple[Pass, Pass] | None:
    """Two passes of one network in a likeness, with gradients through both."""
    passes: dict[object, list[Pass]] = {}
    for value in _all_ingredients(run, term.value):
        if isinstance(value, Applied) and detaches(value):
            return None
        if isinstance(value, Applied | Delayed) and is_model_call(run.index, value):
            alike = passes.setdefault(_network(value), [])
            if not any(value.args[-1:] == other.args[-1:] for other in alike):
                alike.append(value)
    pair = next((alike for alike in passes.values() if len(alike) > 1), None)
    return (pair[0], pair[1]) if pair is not None else None


def _all_ingredients(run: Execution, value: Value) -> Iterator[Value]:
    """What a value was made from, in front of the networks on the way too."""
    waiting, seen = [value], 0
    while waiting and seen < MOST_PASSES:
        seen += 1
        for one in ingredients(run, waiting.pop(), through_networks=True):
            yield one
            if isinstance(one, Applied | Delayed) and is_network_pass(run.index, one):
                waiting.extend(one.args)


def _network(value: Pass) -> object:
    """What tells a network: its object, or how it is called."""
    if isinstance(value, Delayed):
        bound: Value | None = value.callee.bound if isinstance(value.callee, FunctionValue) else None
        return id(bound)
    return id(value.maker) if value.maker is not None else id(value.args[0]) if value.args else value.callee


def _is_kept_apart(one: Minimised, passes: list[tuple[Pass, Pass]]) -> bool:
    """Whether anything on the way speaks of what keeps outputs apart or one side still."""
    sites = [site for pair in passes for site in (pair[0].site, pair[1].site)]
    texts = [_around(one.run.index, site) for site in (*sites, one.sink.site)]
    texts += [ast.unparse(function.node) for function in one.sink.within]
    return any(_KEEPING.search(text) for text in texts)


def _around(index: Index, site: Site) -> str:
    """The class around a place, or else the function, or else the file."""
    line = getattr(site.node, "lineno", 0)
    around: list[Function] = [
        one
        for one in index.functions
        if one.source is site.source and one.node.lineno <= line <= (one.node.end_lineno or 0)
    ]
    inner = max(around, key=lambda one: one.node.lineno, default=None)
    if inner is None:
        return site.source.text
    return ast.unparse(inner.owner.node if inner.owner is not None else inner.node)
