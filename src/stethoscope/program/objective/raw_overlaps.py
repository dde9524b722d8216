"""Overlaps of a mask with outputs that were never made probabilities.

`2 * sum(p * m) / (sum(p) + sum(m))` is a share as long as p lies between zero and one. Of raw outputs it may
be any number: the sum below the line passes through zero, and a large negative output is as good as any.
"""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.data.ingredients import LAYOUT
from stethoscope.program.index import Index
from stethoscope.program.objective.addends import applied_in
from stethoscope.program.objective.last_activation import last_activation
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.minimised import minimised
from stethoscope.program.walk.network_passes import comes_from_model, is_network_pass
from stethoscope.program.walk.values import Applied, Delayed, Site, Value

DEPTH = 12
SUMS = frozenset({"sum", "einsum"})


@dataclass(frozen=True, slots=True, eq=False)
class RawOverlap:
    """A quotient of overlaps, and the layer whose outputs are in it as they are."""

    site: Site
    layer: Site


@remembered
def raw_overlaps(index: Index, settings: SettingsTree) -> tuple[RawOverlap, ...]:
    """The overlaps in everything that is minimised that are taken of raw outputs."""
    found: dict[int, RawOverlap] = {}
    for one in minimised(index, settings):
        one.run.steps = max(one.run.steps, STEPS // 2)
        try:
            for value in applied_in(one.run, one.sink.value):
                layer = _raw(one.run, value)
                if layer is not None:
                    found.setdefault(id(value.site.node), RawOverlap(value.site, layer))
        except (Exhausted, RecursionError):
            continue
    return tuple(found.values())


def _raw(run: Execution, value: Applied) -> Site | None:
    """The layer behind `sum(p * m) / (sum(p) + sum(m))`, where its outputs are p as they are."""
    if not (value.callee == "/" or _name(value) == "div") or len(value.args) < 2:
        return None
    above, below = value.args[:2]
    below = _forced(run, below)
    summed = {id(one) for one in _summed(run, below)}
    if not isinstance(below, Applied) or below.callee != "+" or len(summed) < 2:
        return None
    for product in (one for one in applied_in(run, above) if one.callee == "*" and len(one.args) > 1):
        sides = [_forced(run, arg) for arg in product.args[:2]]
        learned = [side for side in sides if comes_from_model(run, side)]
        if len(learned) == 1 and all(id(side) in summed for side in sides):
            activation, at = last_activation(run, learned[0])
            if activation == "" and at is not None:
                return at
    return None


def _summed(run: Execution, value: Value) -> list[Value]:
    """What is summed up, each by itself, in a value; squares count as what is squared."""
    found: list[Value] = []
    for one in applied_in(run, value):
        if _name(one) in SUMS and one.args:
            inner = _forced(run, one.args[0])
            if isinstance(inner, Applied) and _name(inner) in {"pow", "**", "square"} and inner.args:
                inner = _forced(run, inner.args[0])
            if isinstance(inner, Applied) and inner.callee == "+":
                found.extend(_forced(run, arg) for arg in inner.args)
            found.append(inner)
    return found


def _forced(run: Execution, value: Value) -> Value:
    for _ in range(DEPTH):
        if isinstance(value, Delayed):
            if is_network_pass(run.index, value):
                break
            value = run.expand(value)
        elif isinstance(value, Applied) and _name(value) in LAYOUT and value.args:
            value = value.args[0]
        else:
            break
    return value


def _name(value: Applied) -> str:
    return value.callee.removesuffix("()").rpartition(".")[2]
