"""The regimes a run goes through: the phases of its learning rate, as they were logged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from stethoscope.detectors.schedule_shape import CONSTANT, CYCLIC, STEP, Shape, shape
from stethoscope.report.words import number
from stethoscope.run import Run, Series
from stethoscope.signals.learning_rate import measure
from stethoscope.signals.missing import Missing

MOST = 12  # a schedule with more milestones is told as one regime
LEAST_SHARE = 0.02  # of the run, that a floor is held for


@dataclass(frozen=True, slots=True)
class Regime:
    """Steps that are trained under one phase of the schedule; both ends belong to it."""

    first: int
    last: int
    title: str
    series: str


def regimes(run: Run) -> tuple[Regime, ...]:
    """The phases of the logged learning rate; none where it has one phase or was not logged."""
    rates = measure(run)
    if isinstance(rates, Missing):
        return ()
    rate = rates.main.finite()
    found = shape(rate.steps, rate.values)
    if found is None or found.family == CYCLIC:
        return ()
    phases = tuple(_phases(rate, found))
    return phases if 1 < len(phases) <= MOST else ()


def _phases(rate: Series, found: Shape) -> Iterator[Regime]:
    first, last = int(rate.steps[0]), int(rate.steps[-1])
    begins = first + round(found.warm_up or 0.0)
    if found.warm_up and begins < last:
        yield Regime(first, begins, f"warm-up to {number(found.peak)}", rate.name)
    else:
        begins = first
    if found.family == STEP:
        yield from _levels(rate, begins, found.milestones)
        return
    ends = last if found.length is None else min(last, begins + round(found.length))
    name = f"held at {number(found.peak)}" if found.family == CONSTANT else f"{found.family} decay"
    held = last - ends > LEAST_SHARE * (last - first)
    yield Regime(begins, ends if held else last, name, rate.name)
    if held:
        yield Regime(ends, last, f"held at {number(float(rate.values[-1]))}", rate.name)


def _levels(rate: Series, begins: int, milestones: tuple[int, ...]) -> Iterator[Regime]:
    last = int(rate.steps[-1])
    borders = [begins, *(step for step in milestones if begins < step < last), last]
    for start, end in pairwise(borders):
        level = rate.between(start, end).values
        if len(level):
            yield Regime(start, end, f"held at {number(float(level[len(level) // 2]))}", rate.name)
