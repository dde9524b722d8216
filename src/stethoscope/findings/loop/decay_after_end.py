"""The learning rate would decay, but only behind the end of the run.

## What it checks
The course of the rate, computed round by round: the function of a `LambdaLR`, the `get_lr` of a scheduler
class, a cosine or a line of torch's with its length, or what the loop writes into `group["lr"]`. It is tried
on the rounds that the loop makes, and on those it would make if it went on. Reported is a course that keeps
three quarters of its highest value to the last round and falls below a third of it behind the end. Where
nothing says how many batches an epoch has, it is tried with few and with many; what holds for both counts.

## Why it matters
The decay is where most of the loss is won. A length that is too large, in other units, or divided without a
remainder (`//`) makes it a constant rate, and neither the settings nor the first curves show it.

## When it is harmless
A constant rate has no decay to lose, and neither have courses that fade without an end (a share for each
epoch, one over the root of the step): nothing is reported. A schedule that is laid out somewhat beyond the
run, or one that was low before within it. A run of fewer than ten rounds only tries the code out. Where the
settings themselves name the length of the decay in steps, schedule-longer-than-run tells it.

## References
- Hoffmann et al., Training Compute-Optimal Large Language Models, 2022: a cosine that is a quarter longer
  than the run costs loss.
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.loop.course_ends import Misfit
from stethoscope.signals.rate_courses import RateCourses
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="LOP186", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

LONGER = 3.0  # times the run: what schedule-longer-than-run tells of a length in the settings


def examine(courses: RateCourses, plan: TrainingPlan | None) -> Iterator[Finding]:
    """Report each course that falls behind the end of its run only."""
    if plan is not None and _is_told_by_settings(plan):
        return
    for end in courses.of(Misfit.FALLS_LATER):
        rounds, name = end.course.rounds, end.course.name
        yield Finding(
            end.course.site.where,
            f"{name} still gives {end.last:.0%} of its highest rate in the last of {rounds:,} rounds, "
            f"and {end.reached:.0%} in round {end.at:,}: the decay lies behind the end of the run"
            f"{end.course.told_lengths}",
            evidence={"rounds": rounds, "last": round(end.last, 4), "falls by": end.at},
            proof="the course was computed for the rounds of the loop and for those behind them",
        )


def _is_told_by_settings(plan: TrainingPlan) -> bool:
    """Whether the settings name a length of the decay that is many times the run: another rule tells it."""
    if plan.extent.steps is None:
        return False
    return any(
        (one.amount.number or 0.0) >= LONGER * plan.extent.steps
        for one in plan["decay length"].asked
        if one.amount.unit == "step" and one.setting.where not in plan.extent.where
    )
