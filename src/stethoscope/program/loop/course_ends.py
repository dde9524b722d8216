"""Courses of a rate that do not fit the run: they fall or rise behind its end, or are over long before it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from stethoscope.program.loop.rate_courses import Course

INSIDE = 48  # rounds of the run at which a course is tried
FURTHER = 1.25  # from one round behind the end to the next
FURTHEST = 2_000  # times the run
FEWEST = 10  # rounds: a shorter run only tries the code out

HIGH = 0.75  # of the highest share: the run ends with hardly any decay
LOW = 0.35  # of the highest share: the course does decay, behind the end
TWICE = 2.0  # what the warm-up reaches, over what the run sees of it
SPENT = 0.05  # of the highest share
TAIL = 0.75  # of the run, in which a course that is over stands still
STAGES = 3  # values on the way down: a drop at one milestone is meant
ALIKE = 0.02


class Misfit(StrEnum):
    """How a course and the run do not fit."""

    FALLS_LATER = "falls later"
    RISES_LATER = "rises later"
    OVER_EARLY = "over early"


@dataclass(frozen=True, slots=True)
class CourseEnd:
    """A course that does not fit: the share of its highest value it has at the end of the run.

    `at` is the round in which the course would be there, or was over, and `reached` what it has there.
    """

    misfit: Misfit
    course: Course
    last: float
    at: int
    reached: float


Tried = Sequence[tuple[int, float]]


def course_end(course: Course) -> CourseEnd | None:
    """How a course does not fit its run, where it does not."""
    if course.rounds < FEWEST:
        return None
    inside = _tried(course, sorted({round(i * (course.rounds - 1) / INSIDE) for i in range(INSIDE + 1)}))
    if len(inside) < FEWEST or inside[-1][0] != course.rounds - 1 or max(value for _, value in inside) <= 0:
        return None
    outside = _tried(course, _behind(course.rounds))
    if not outside:
        return None
    return (
        _falls_later(course, inside, outside)
        or _rises_later(course, inside, outside)
        or _over_early(course, inside, outside)
    )


def _behind(rounds: int) -> list[int]:
    """The rounds behind the end: the very next ones, then further and further."""
    count = math.ceil(math.log(FURTHEST) / math.log(FURTHER))
    return sorted({rounds, rounds + 1, *(math.ceil(rounds * FURTHER**power) for power in range(1, count))})


def _tried(course: Course, rounds: Sequence[int]) -> list[tuple[int, float]]:
    """The values up to the first round that could not be computed."""
    found: list[tuple[int, float]] = []
    for at in rounds:
        value = course.at(at)
        if value is None:
            break
        found.append((at, value))
    return found


def _falls_later(course: Course, inside: Tried, outside: Tried) -> CourseEnd | None:
    top_at, top = max(inside, key=lambda one: (one[1], -one[0]))
    if min(value for at, value in inside if at >= top_at) < HIGH * top:
        return None
    for at, value in outside:
        if value > TWICE * top:
            return None
        if value <= LOW * top:
            if _fades(course, at):
                return None
            return CourseEnd(Misfit.FALLS_LATER, course, inside[-1][1] / top, at, value / top)
    return None


def _fades(course: Course, end: int) -> bool:
    """Whether a course falls without an end: by the same share again and again, or as a power."""
    start = course.rounds
    if end <= start + 1:
        return False
    places = (start, (start + end) // 2, round(math.sqrt(start * end)), end)
    values = [value for at in places if (value := course.at(at))]
    if len(values) < len(places) or min(values) <= 0:
        return False
    high, middle, geometric, low = values
    by_share = abs(math.log(middle**2 / (high * low))) < ALIKE
    by_power = abs(math.log(geometric**2 / (high * low))) < ALIKE
    by_inverse = abs(math.log(2 / middle / (1 / high + 1 / low))) < ALIKE
    return by_share or by_power or by_inverse


def _rises_later(course: Course, inside: Tried, outside: Tried) -> CourseEnd | None:
    values = [value for _, value in inside]
    if any(later < earlier for earlier, later in pairwise(values)):
        return None
    highest_at, highest = max(outside, key=lambda one: (one[1], -one[0]))
    has_an_end = highest_at < outside[-1][0]  # a search for the highest rate goes on for ever
    if highest >= TWICE * values[-1] and has_an_end and values[-1] > values[0]:
        return CourseEnd(Misfit.RISES_LATER, course, values[-1] / highest, highest_at, 1.0)
    return None


def _over_early(course: Course, inside: Tried, outside: Tried) -> CourseEnd | None:
    top = max(value for _, value in inside)
    last = inside[-1][1]
    if not course.is_each or last > SPENT * top or any(value != last for _, value in outside):
        return None
    over = _over_from(course, inside, last)
    if over > (1.0 - TAIL) * course.rounds:
        return None
    places = {round(over * part / INSIDE) for part in range(INSIDE)}
    on_the_way = {value for at in places if (value := course.at(at)) is not None and last < value < top}
    if len(on_the_way) < STAGES:
        return None
    return CourseEnd(Misfit.OVER_EARLY, course, last / top, over, last / top)


def _over_from(course: Course, inside: Tried, last: float) -> int:
    """The round from which a course stands at its last value."""
    low = next((at for at, value in reversed(inside) if value != last), -1)
    high = next(at for at, _ in inside if at > low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if course.at(middle) == last else (middle, high)
    return high
