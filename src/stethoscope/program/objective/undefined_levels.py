"""Weights of a loss that are not finite at one of the steps that are drawn, found by computing all of them.

Schedules end where nothing of the data, or nothing of the noise, is left: a ratio of the two is zero or
infinite there, and so is a weight that it divides.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stethoscope.program.data.ingredients import is_drawn
from stethoscope.program.index import Index
from stethoscope.program.objective.addends import applied_in
from stethoscope.program.objective.declared_numbers import declared_numbers
from stethoscope.program.objective.probe import computed, operands_of
from stethoscope.program.objective.taken_apart import allow_reading
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import Exhausted
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.network_passes import comes_from_model
from stethoscope.program.walk.values import Applied, Constant, Delayed, Site, Value, inputs

WHOLE = frozenset({"randint", "integers"})
MOST_STEPS = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class UndefinedLevel:
    """A weight, the backward pass behind it, and the drawn step at which it is not finite."""

    site: Site
    sink: Site
    step: int
    steps: int  # that may be drawn


@remembered
def undefined_levels(index: Index, settings: SettingsTree) -> tuple[UndefinedLevel, ...]:
    """Compute every weight that follows from a drawn step alone."""
    found: dict[int, UndefinedLevel] = {}
    for one in minimised(index, settings):
        allow_reading(one.run)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                for level in _in(one, settings):
                    found.setdefault(id(level.site.node), level)
        except (Exhausted, RecursionError):
            continue
    return tuple(found.values())


def _in(one: Minimised, settings: SettingsTree) -> Iterator[UndefinedLevel]:
    if not any(_is_whole_draw(value) for value in applied_in(one.run, one.sink.value)):
        return
    for weight, divides in _weights(one):
        step = _undefined_at(one, weight, divides, settings)
        if step is not None:
            yield UndefinedLevel(weight.site, one.sink.site, *step)


def _weights(one: Minimised) -> Iterator[tuple[Applied, bool]]:
    """What a loss of the network is multiplied with, or divided by, as it is."""
    for value in applied_in(one.run, one.sink.value):
        if value.callee not in {"*", "/"} or not comes_from_model(one.run, value):
            continue
        for place, side in enumerate(value.args):
            if isinstance(side, Delayed):
                side = one.run.expand(side)
            if isinstance(side, Applied) and not comes_from_model(one.run, side):
                yield side, value.callee == "/" and place == 1


def _undefined_at(
    one: Minimised, weight: Applied, divides: bool, settings: SettingsTree
) -> tuple[int, int] | None:
    """The first step at which a weight is not finite, and how many steps there are."""
    drawn = [value for value in _inside(weight) if _is_whole_draw(value)]
    if len(drawn) != 1:
        return None
    index = one.run.index
    given = frozenset(id(value) for value in drawn)
    operands = [value for value in operands_of(index, weight, given) if id(value) not in given]
    asked = (*operands, *drawn[0].args, *drawn[0].keywords.values())
    numbers = {value: n for value, (_, n) in declared_numbers(index, settings, asked).items()}
    ends = _ends(drawn[0], numbers)
    if ends is None or not set(operands) <= numbers.keys():
        return None
    steps = np.arange(*ends)
    known = [numbers[value] for value in operands]
    values = computed(index, weight, (drawn[0], *operands), (steps, *known))
    if values is None or values.shape[:1] != steps.shape:
        return None
    factors = (1.0 / values if divides else values).reshape(len(steps), -1)
    bad = ~np.isfinite(factors).all(1)
    return (int(steps[bad][0]), len(steps)) if bad.any() and not bad.all() else None


def _ends(drawn: Applied, numbers: dict[Value, float]) -> tuple[int, int] | None:
    """From which number on, and up to which, whole numbers are drawn."""
    given = [*drawn.args[:2], *(drawn.keywords[key] for key in ("low", "high") if key in drawn.keywords)]
    known = [arg.value if isinstance(arg, Constant) else numbers.get(arg) for arg in given]
    bounds = [int(number) for number in known if isinstance(number, int | float)]
    low, high = (0, *bounds) if len(bounds) == 1 else (*bounds, 0, 0)[:2]
    return (low, high) if 0 < high - low <= MOST_STEPS else None


def _inside(value: Value) -> Iterator[Applied]:
    seen: set[int] = set()
    waiting: list[Value] = [value]
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, Applied):
            yield current
        if not is_drawn(current):
            waiting.extend(inputs(current))


def _is_whole_draw(value: Value) -> bool:
    return isinstance(value, Applied) and value.callee.rpartition(".")[2] in WHOLE
