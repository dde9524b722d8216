"""Schedules that give a rate where a share is asked for: `LambdaLR(optimizer, lambda s: args.lr * f(s))`.

LambdaLR multiplies what its function gives with the rate of the optimizer, so the rate acts twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.loop.known_numbers import known_number
from stethoscope.program.loop.moves import Kind
from stethoscope.program.loop.parameter_owners import holder_of, holders
from stethoscope.program.loop.rate_courses import rate_courses
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.walk.values import Site

PLACES = 40  # of the run, at which a share is tried
SMALL = 0.05  # a rate, and no share that a schedule has at its highest


@dataclass(frozen=True, slots=True)
class ShareAsRate:
    """Where the schedule is made, the most that it gives, and the rate that this is multiplied with."""

    site: Site
    most: float
    rate: float


def shares_as_rates(loop: TrainingLoop) -> Iterator[ShareAsRate]:
    """Every LambdaLR whose function never gives more than a rate, over an optimizer that has a rate."""
    rate = _rate(loop)
    if rate is None or rate > SMALL:
        return
    for course in rate_courses(loop):
        if course.name != "LambdaLR":
            continue
        tried = [course.at(round(part * (course.rounds - 1) / PLACES)) for part in range(PLACES + 1)]
        known = [value for value in tried if value is not None]
        if len(known) == len(tried) and 0 < max(known) <= SMALL:
            yield ShareAsRate(course.site, max(known), rate)


def _rate(loop: TrainingLoop) -> float | None:
    """The one rate that the optimizers of a loop are made with, where it is known."""
    updates = [move for move in loop.moves if move.kind in {Kind.STEP, Kind.SCALER_STEP}]
    made = {id(one): one for move in updates for one in holder_of(loop.trace, move.subject)}
    made = made or {id(one): one for one in holders(loop.trace)}  # behind what an engine prepared
    rates = {known_number(loop.run, one.call.argument(1, "lr")) for one in made.values()}
    return rates.pop() if len(rates) == 1 else None
