"""The schedule of the learning rate is over in the first part of the run.

## What it checks
The course of the rate, computed round by round. Reported is one that comes down over several rounds to a
twentieth of its highest value or less within the first quarter of the run, and stays at just that value from
there on. Reported is also one that is laid out over the rounds of the run, and computed from a count that
goes up by several in each of them, `rate(step * accumulation)`: it is at its end that much earlier. So is one
that is laid out over the updates, where several rounds make an update and each of them moves it.

## Why it matters
Three quarters of the run train with next to no rate: the loss stands still, and looks converged. Mostly the
length is in epochs and the rounds are batches, or it is a default that nobody meant. A rate that is computed
behind its own end stays at its floor, climbs again or turns negative, as its formula has it.

## When it is harmless
A drop at a milestone is meant, however early. Courses that fade without an end, and those that come up again,
are left alone, and so is a schedule that not every round moves. A run of fewer than ten rounds only tries the
code out.

## References
- torch.optim.lr_scheduler.LambdaLR
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.loop.course_ends import Misfit
from stethoscope.program.loop.rate_courses import Course
from stethoscope.signals.rate_courses import RateCourses

RULE = Rule(code="LOP188", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

PROOF = "the course was computed for the rounds of the loop and for those behind them"


def examine(courses: RateCourses) -> Iterator[Finding]:
    """Report each course that is over in the first quarter of its run."""
    for end in courses.of(Misfit.OVER_EARLY):
        rounds, name = end.course.rounds, end.course.name
        yield Finding(
            end.course.site.where,
            f"{name} is down to {end.last:.0%} of its highest rate by round {end.at:,} of {rounds:,} "
            f"and stays there: most of the run trains with next to no rate{end.course.told_lengths}",
            evidence={"rounds": rounds, "last": round(end.last, 4), "over by": end.at},
            proof=PROOF,
        )
    for end in courses.of(Misfit.COUNTS_TOO_FAST):
        yield Finding(
            end.course.site.where,
            f"{_told(end.course)}: it is at its end in round {end.at:,}{end.course.told_lengths}",
            evidence={"rounds": end.course.rounds, "pace": _pace(end.course), "over by": end.at},
            proof=PROOF,
        )


def _pace(course: Course) -> float:
    return max(course.pace, course.per_update)


def _told(course: Course) -> str:
    name, rounds, pace = course.name, course.rounds, _pace(course)
    if course.pace < course.per_update:
        updates = int(rounds / pace)
        return (
            f"{name} is laid out over the {updates:,} updates of the run, and each of its {rounds:,} rounds "
            "moves it"
        )
    return (
        f"{name} is laid out over {rounds:,} rounds, as many as the run has, and is computed from a "
        f"count that goes up by {pace:g} in each"
    )
