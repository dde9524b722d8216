"""Likelihoods of normalizing flows whose two parts do not belong together.

The loss is computed as a function of the code and of the change of volume that a flow gives: a code of ones
against one of zeros, and a change of one against none. With a normal prior the first makes half a unit for
each number of the code, and the second takes one unit away.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from stethoscope.program.data.ingredients import ingredients
from stethoscope.program.experiments.volume_changes import Flow, volumes
from stethoscope.program.index import Class, Index
from stethoscope.program.objective.probe import operands_of, score
from stethoscope.program.objective.taken_apart import allow_reading
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import Exhausted
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.values import Delayed, FunctionValue, Instance, Part, Site, Value

SHAPES = ((1, 6), (1, 2, 3, 1), (1, 3, 2))
DEPTH = 6  # functions around a loss
MOST_OTHERS = 3  # things beside the two that the loss is made of
CLOSE = 1e-3


class Misfit(StrEnum):
    """How a likelihood is wrong."""

    SIGN = "the change of volume is counted with the wrong sign"
    MEAN = "the code counts with its mean, and the change of volume with its sum"


@dataclass(frozen=True, slots=True, eq=False)
class MisfitLikelihood:
    """A loss of a flow that is no likelihood."""

    site: Site
    passed: Site
    misfit: Misfit


@remembered
def misfit_likelihoods(index: Index, settings: SettingsTree) -> tuple[MisfitLikelihood, ...]:
    """The losses of the flows of a program whose parts do not fit."""
    flows = {flow.cls: flow for flow in volumes(index, settings).flows}
    found: dict[int, MisfitLikelihood] = {}
    for one in minimised(index, settings) if flows else ():
        allow_reading(one.run)
        try:
            for pass_, parts in _passes(one):
                cls = _class_of(pass_)
                misfit = _misfit(one, flows[cls], parts) if cls is not None and cls in flows else None
                if misfit is not None:
                    found.setdefault(id(pass_.site.node), MisfitLikelihood(one.sink.site, pass_.site, misfit))
        except (Exhausted, RecursionError):
            continue
    return tuple(found.values())


def _passes(one: Minimised) -> Iterator[tuple[Delayed, tuple[Value, Value]]]:
    """The passes of which code and change of volume are used."""
    met: dict[int, dict[object, Part]] = {}
    for value in ingredients(one.run, one.sink.value):
        if isinstance(value, Part) and isinstance(value.base, Delayed):
            met.setdefault(id(value.base), {})[value.key] = value
    for parts in met.values():
        if 0 in parts and 1 in parts and isinstance(parts[0].base, Delayed):
            yield parts[0].base, (parts[0], parts[1])


def _class_of(pass_: Delayed) -> Class | None:
    bound = pass_.callee.bound if isinstance(pass_.callee, FunctionValue) else None
    return bound.cls if isinstance(bound, Instance) else None


def _misfit(one: Minimised, flow: Flow, parts: tuple[Value, Value]) -> Misfit | None:
    loss = one.sink.value
    for _ in range(DEPTH):
        if isinstance(loss, Delayed):
            loss = one.run.expand(loss)
    operands = operands_of(one.run.index, loss, frozenset(map(id, parts)))
    others = [operand for operand in operands if operand not in parts]
    if len(others) > MOST_OTHERS:
        return None
    for shape in SHAPES:
        losses = [
            _computed(one, loss, (*parts, *others), shape, code, change)
            for code, change in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))
        ]
        known = [loss for loss in losses if loss is not None]
        if len(known) == len(losses):
            return _judged(flow, known[1] - known[0], known[2] - known[0])
    return None


def _computed(
    one: Minimised,
    loss: Value,
    operands: tuple[Value, ...],
    shape: tuple[int, ...],
    code: float,
    change: float,
) -> float | None:
    """The loss for a code and a change of volume, with data of the size of the code."""
    data = [np.ones(shape) for _ in operands[2:]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return score(one.run.index, loss, operands, (np.full(shape, code), np.full(1, change), *data))


def _judged(flow: Flow, of_code: float, of_change: float) -> Misfit | None:
    if of_code <= 0 or abs(of_change) < CLOSE * of_code:
        return None
    lowered = -of_change * flow.part  # by one unit of the true change of volume
    if lowered < 0:
        return Misfit.SIGN
    share = of_code / lowered
    return Misfit.MEAN if abs(share - 0.5) < CLOSE and abs(flow.part) == 1.0 else None
