"""The learning rate is still on its way up when the run ends.

## What it checks
The course of the rate, computed round by round for those that the loop makes and for those behind its end.
Reported is one that rises through the whole run, ends below half of what it would reach, and has a top, and
one that rises from next to nothing through 85% of the run or more and is taken down again in what is left.

## Why it matters
The run trains with a fraction of the rate that was asked for, and nothing that comes behind the warm-up
happens. It looks like a rate that is too low, and raising the rate is not what helps.

## When it is harmless
A search for the highest rate goes up for as long as it is let, and has no top. A warm-up that ends with the
run. A run of fewer than ten rounds only tries the code out. Where the settings themselves name the length of
the warm-up, warmup-longer-than-run tells it.

## References
- Goyal et al., Accurate, Large Minibatch SGD, 2017
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.loop.course_ends import CourseEnd, Misfit
from stethoscope.signals.rate_courses import RateCourses
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="LOP187", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(courses: RateCourses, plan: TrainingPlan | None) -> Iterator[Finding]:
    """Report each course whose warm-up takes the run, or next to all of it."""
    yield from map(_peaks_late, courses.of(Misfit.PEAKS_LATE))
    if plan is not None and _is_told_by_settings(plan):
        return
    for end in courses.of(Misfit.RISES_LATER):
        rounds, name = end.course.rounds, end.course.name
        yield Finding(
            end.course.site.where,
            f"{name} has reached {end.last:.0%} of its highest rate in the last of {rounds:,} rounds, "
            f"and would be there by round {end.at:,}: the warm-up does not end{end.course.told_lengths}",
            evidence={"rounds": rounds, "last": round(end.last, 4), "top by": end.at},
            proof="the course was computed for the rounds of the loop and for those behind them",
        )


def _peaks_late(end: CourseEnd) -> Finding:
    rounds, name = end.course.rounds, end.course.name
    return Finding(
        end.course.site.where,
        f"{name} rises up to round {end.at:,} of {rounds:,} and is down to {end.last:.0%} of its top in the "
        f"last: the warm-up takes nearly all of the run{end.course.told_lengths}",
        evidence={"rounds": rounds, "last": round(end.last, 4), "top by": end.at},
        proof="the course was computed for the rounds of the loop",
    )


def _is_told_by_settings(plan: TrainingPlan) -> bool:
    """Whether the settings tell a warm-up and the run in one unit, so that another rule compares them."""
    return any(
        plan.extent.epochs is not None if asked.amount.unit == "epoch" else plan.schedule_extent is not None
        for asked in plan["warm-up"].asked
        if asked.amount.number
    )
