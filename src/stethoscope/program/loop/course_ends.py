"""Courses of a rate that do not fit the run: they fall or rise behind its end, or are over long before it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from stethoscope.program.likenesses import words
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
LATE = 0.85  # of the run: where a warm-up has its top next to nothing is left for the rest
TWO = 2.0  # the least pace at which a course is over by the middle of the run
CLOSE = 0.02  # of a length: how near its end counts as being there
SHORTEST_WARM_UP = 8  # rounds in a straight line
TEETH = 2  # lengths of a warm-up in which a saw-tooth is up again
STAGES = 3  # values on the way down: a drop at one milestone is meant
ALIKE = 0.02
CYCLING = frozenset({"cyclic", "cycle", "restart", "restarts", "triangular"})  # swings are meant


class Misfit(StrEnum):
    """How a course and the run do not fit."""

    FALLS_LATER = "falls later"
    RISES_LATER = "rises later"
    OVER_EARLY = "over early"
    PEAKS_LATE = "peaks late"
    COUNTS_TOO_FAST = "counts too fast"
    COUNTS_TOO_SLOWLY = "counts too slowly"
    WARM_UP_MISSES = "warm-up misses"
    SWINGS = "swings"


@dataclass(frozen=True, slots=True)
class CourseEnd:
    """A course that does not fit: the share of its highest value it has at the end of the run.

    `at` is the round in which the course would be there, or was over, and `reached` what it has there. Of a
    warm-up that misses the rate behind it, `last` is how much of its end is left in the round behind, `at`.
    """

    misfit: Misfit
    course: Course
    last: float
    at: int
    reached: float


Tried = Sequence[tuple[int, float]]


def course_end(course: Course) -> CourseEnd | None:
    """How a course does not fit its run, where it does not, whatever lengths are not known."""
    found = _end(course)
    other = _end(course.other) if found is not None and course.other is not None else found
    return found if found is not None and other is not None and found.misfit is other.misfit else None


def _end(course: Course) -> CourseEnd | None:
    if course.rounds < FEWEST:
        return None
    inside = _tried(course, sorted({round(i * (course.rounds - 1) / INSIDE) for i in range(INSIDE + 1)}))
    if len(inside) < FEWEST or inside[-1][0] != course.rounds - 1 or max(value for _, value in inside) <= 0:
        return None
    found = (
        _warm_up_misses(course)
        or _counts_too_fast(course)
        or _counts_too_slowly(course, inside)
        or _peaks_late(course, inside)
        or _swings(course, inside)
    )
    if found is not None:
        return found
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


def _warm_up_misses(course: Course) -> CourseEnd | None:
    """A course that goes up in a straight line, and from one round to the next to something else."""
    begun, second = course.at(0), course.at(1)
    if begun is None or second is None or second <= begun:
        return None

    def is_on_line(at: int) -> bool:
        wanted, value = begun + (second - begun) * at, course.at(at)
        return value is not None and abs(value - wanted) <= ALIKE * abs(wanted)

    low, high = 1, 2
    while high < course.rounds and is_on_line(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_on_line(middle) else (low, middle)
    ends, behind = course.at(low), course.at(high)
    if low < SHORTEST_WARM_UP or high >= course.rounds - 1 or ends is None or behind is None or ends <= 0:
        return None
    is_missed = behind < ends / TWICE * (1 + ALIKE) or behind > ends * TWICE * (1 - ALIKE)
    again = _tried(course, range(high, min(course.rounds, (TEETH + 1) * high), max(1, high // INSIDE)))
    comes_back = max((value for _, value in again), default=0.0) >= HIGH * ends > behind
    if not is_missed or comes_back:
        return None
    return CourseEnd(Misfit.WARM_UP_MISSES, course, behind / ends, high, 1.0)


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


def _peaks_late(course: Course, inside: Tried) -> CourseEnd | None:
    """A course that rises through nearly all of the run, and falls to nothing in the little that is left."""
    top_at, top = max(inside, key=lambda one: (one[1], -one[0]))
    rising = [value for at, value in inside if at <= top_at]
    is_left = top_at < course.rounds - 1 and inside[-1][1] <= LOW * top
    if top_at < LATE * course.rounds or not is_left or rising[0] > (1 - HIGH) * top:
        return None
    if any(later < earlier for earlier, later in pairwise(rising)):
        return None
    return CourseEnd(Misfit.PEAKS_LATE, course, inside[-1][1] / top, top_at, 1.0)


def _counts_too_fast(course: Course) -> CourseEnd | None:
    """A course laid out over the rounds of the run, whose count goes up by more than one in each of them.

    The same is one laid out over the updates of the run, that each of several rounds to an update moves.
    """
    pace = max(course.pace, course.per_update)
    end = course.rounds / pace  # the round in which the count is at the number of rounds, or of updates
    if pace < TWO or end < 1:
        return None
    _, top = _top_of_count(course, pace)
    at_end = _laid_out_up_to(course, end, top)
    if at_end is None:
        return None
    return CourseEnd(Misfit.COUNTS_TOO_FAST, course, at_end / top, math.ceil(end), at_end / top)


def _counts_too_slowly(course: Course, inside: Tried) -> CourseEnd | None:
    """A course laid out over the rounds of the run that few of them move: it is not there at the end."""
    if course.pace > 1 / TWO:
        return None
    end = course.rounds / course.pace
    values = [value for _, value in inside]
    top_at, top = _top_of_count(course, course.pace)
    at_end = _laid_out_up_to(course, end, top)
    has_hardly_fallen = at_end is not None and values[-1] - at_end >= LOW * max(values)
    is_rising = all(later >= earlier for earlier, later in pairwise(values)) and values[-1] > values[0]
    if not has_hardly_fallen and not (is_rising and TWICE * values[-1] <= top and top_at < end):
        return None
    return CourseEnd(
        Misfit.COUNTS_TOO_SLOWLY, course, values[-1] / top, math.ceil(end), (at_end or 0.0) / top
    )


def _swings(course: Course, inside: Tried) -> CourseEnd | None:
    """A course that comes back up again and again, within fewer rounds than two for each epoch of the run.

    Nobody lays out swings by the number of epochs: it is a decay over them, moved with every batch.
    """
    if course.extent is None or CYCLING & set(words(course.name)) or not course.is_each:
        return None
    rises = sum(later > earlier for (_, earlier), (_, later) in pairwise(inside))
    epochs = course.rounds / course.extent.batches
    if rises < FEWEST or epochs < FEWEST:
        return None
    top = max(value for _, value in inside)
    places = _turns(course, (HIGH * top, LOW * top, HIGH * top), round(4 * epochs))
    if len(places) < STAGES or places[2] - places[0] > 2 * epochs:
        return None
    return CourseEnd(Misfit.SWINGS, course, inside[-1][1] / top, places[2], 1.0)


def _turns(course: Course, levels: Sequence[float], end: int) -> list[int]:
    """The rounds in which a course is above the first level, then below the second, and above the third."""
    found: list[int] = []
    for at in range(min(end, course.rounds)):
        value = course.at(at)
        if value is None or len(found) == len(levels):
            break
        level = levels[len(found)]
        if value <= level if len(found) % 2 else value >= level:
            found.append(at)
    return found


def _top_of_count(course: Course, pace: float) -> tuple[float, float]:
    """The highest value for counts up to the number of rounds, with the round that would have that count."""
    counts = (course.rounds * place / INSIDE for place in range(INSIDE + 1))
    tried = [(count / pace, value) for count in counts if (value := course.at(count / pace))]
    return max(tried, key=lambda one: one[1], default=(0.0, 1.0))


def _laid_out_up_to(course: Course, end: float, top: float) -> float | None:
    """The low end of a course that comes down until just this round and stays; None for another course."""
    places = [end * share for share in (0.5, 0.75, 1 - CLOSE, 1.0, 1 + CLOSE)]
    values = [course.at(at) for at in places]
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    *falling, at_end, behind = known
    falls = all(later < earlier for earlier, later in pairwise([*falling, at_end]))
    is_end = at_end <= LOW * top and (behind >= at_end or behind < 0 <= at_end + ALIKE * top)
    return at_end if falls and is_end else None


def _over_early(course: Course, inside: Tried, outside: Tried) -> CourseEnd | None:
    last = inside[-1][1]
    if not course.is_each or any(value != last for _, value in outside):
        return None
    over = _over_from(course, inside, last)
    early = _tried(course, sorted({round(over * part / INSIDE) for part in range(INSIDE)}))
    if over > (1.0 - TAIL) * course.rounds or not early:
        return None
    top_at, top = max(early, key=lambda one: one[1])
    if last > SPENT * top * (1 + ALIKE):
        return None
    # Between whole rounds, too: a decay over a handful of rounds is one, and a milestone has nothing there.
    places = (top_at + (over - top_at) * part / INSIDE for part in range(INSIDE))
    on_the_way = {value for at in places if (value := course.at(at)) is not None and last < value < top}
    # A warm-up that falls to the floor where it ends: nobody climbs to a rate in order to leave it at once.
    climbed = {value for at, value in early if at < top_at and last < value < top}
    is_left_at_once = over <= top_at + 1 and len(climbed) >= STAGES
    if len(on_the_way) < STAGES and not is_left_at_once:
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
