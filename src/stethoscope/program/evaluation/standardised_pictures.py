"""Metrics with a fixed peak that compare pictures in units of their standard deviation.

`(x - mean) / std` has no peak of 1: whatever a PSNR of it says, it is not in decibels of a picture.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.data.batches import drawn, is_loader
from stethoscope.program.data.ingredients import ingredients, part_path
from stethoscope.program.evaluation.evaluations import Walk
from stethoscope.program.evaluation.metric_ranges import LEAVING, assumed, range_of
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.values import Applied, Delayed, Part, Site, Value

DEPTH = 24
PEAKS = (1.0, 255.0)
MOST_LOOKED = 40


@dataclass(frozen=True, slots=True, eq=False)
class InDeviations:
    """A metric of a fixed peak, and where what it compares is standardised."""

    peak: float
    formula: Site
    called: Site
    standardised: Site


def in_deviations(walk: Walk) -> Iterator[InDeviations]:
    """The metrics of a walk that compare standardised pictures."""
    run = walk.trace.run
    for event in walk.trace.events:
        if not isinstance(event, Call):
            continue
        run.steps = max(run.steps, STEPS // 8)
        try:
            yield from _judged(run, event)
        except (Exhausted, RecursionError):
            continue


def _judged(run: Execution, call: Call) -> Iterator[InDeviations]:
    for peak, pictures, formula in assumed(run, call):
        if peak not in PEAKS or any(range_of(run, picture) is not None for picture in pictures):
            continue
        found = [site for picture in pictures if (site := _standardised(run, picture, DEPTH)) is not None]
        if found:
            yield InDeviations(peak, formula, call.site, found[0])


def _standardised(run: Execution, value: Value, depth: int) -> Site | None:
    """Where a value was brought to deviations from its mean, with nothing done to it since."""
    if depth == 0:
        return None
    if isinstance(value, Delayed):
        forced = quietly(run, value)
        return _standardised(run, forced, depth - 1) if forced is not value else None
    if isinstance(value, Part):
        base, keys = part_path(value)
        if is_loader(base) and keys[:1] == ("*",):
            sites = [_standardised(run, one, depth - 1) for one in drawn(run, value)]
            if sites:
                return sites[0] if all(site is not None for site in sites) else None
        return _standardised(run, value.base, depth - 1) if isinstance(value.key, int) else None
    if not isinstance(value, Applied) or not value.args or value.maker is not None:
        return None
    last = value.callee.rpartition(".")[2] or value.callee
    if last in LEAVING:
        return _standardised(run, value.args[0], depth - 1)
    match value:
        case Applied(callee="/", args=(Applied(callee="-", args=(_, middle)), spread)):
            is_spread = _is_statistic(run, spread, "std") and _is_statistic(run, middle, "mean")
            return value.site if is_spread else None
    return None


def _is_statistic(run: Execution, value: Value, name: str) -> bool:
    for seen, one in enumerate(ingredients(run, value)):
        if seen > MOST_LOOKED:
            return False
        if isinstance(one, Applied) and name in one.callee.rpartition(".")[2]:
            return True
    return False
