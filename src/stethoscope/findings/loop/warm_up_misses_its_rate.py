"""The warm-up ends at another rate than the one that the course goes on with.

## What it checks
The course of the rate, computed round by round. Reported is one that goes up in a straight line for eight
rounds or more and has, in the very next round, at most half or at least twice of what it had reached.

## Why it matters
A warm-up is there to come to the rate gently. One that ends far above it trains its last rounds with a rate
that nobody asked for, and one that ends far below makes the jump that it should prevent.

## When it is harmless
A saw-tooth that goes up and drops again and again is meant to: nothing is said where the course comes back to
its height later. Step decays and restarts begin from a rate that stands still.

## References
- Goyal et al., Accurate, Large Minibatch SGD, 2017
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.loop.course_ends import Misfit
from stethoscope.signals.rate_courses import RateCourses

RULE = Rule(code="LOP510", since="0.9", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(courses: RateCourses) -> Iterator[Finding]:
    """Report each warm-up that misses the rate behind it."""
    for end in courses.of(Misfit.WARM_UP_MISSES):
        yield Finding(
            end.course.site.where,
            f"{end.course.name} warms up in a straight line, and has {end.last:.2g} times as much in round "
            f"{end.at:,} as in the one before: the warm-up misses its rate{end.course.told_lengths}",
            evidence={"round": end.at, "times": round(end.last, 4)},
            proof="the course was computed for the rounds of the loop",
        )
