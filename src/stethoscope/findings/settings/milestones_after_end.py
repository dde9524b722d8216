"""The learning rate is to drop after the end of the run.

## What it checks
The milestones of a schedule against the length of the run, both from the settings, in one unit.

## Why it matters
A schedule whose milestones all lie behind the end is a constant rate: the run ends noisy, and comparisons
with runs that decayed mislead.

## When it is harmless
Where some milestones are met and only the last ones are not (settings of a longer run that were kept), it is
only noted. A finite last milestone at the very end is met. Milestones without a unit count batches where
the source moves the schedule with each of them.
A run of fewer than 50 steps only tries the code out.

## References
- torch.optim.lr_scheduler.MultiStepLR
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.schedule_steps import epoch_loop, schedule_steps
from stethoscope.program.training_loop import TrainingLoop
from stethoscope.recipe.quantities import Asked
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="SET113", since="0.2", severity=Severity.WARNING, subject=Subject.SETTINGS)


def examine(plan: TrainingPlan) -> Iterator[Finding]:
    """Fire on milestones that are not met within the run."""
    asked = plan["milestones"].asked
    if asked and plan.extent.steps is None and plan.extent.epochs is None:
        raise InsufficientData("the settings do not say how long the run is")
    if plan.extent.is_trial:
        return
    for one in asked:
        points = one.amount.value
        length = _length(one, plan)
        if not isinstance(points, tuple) or length is None:
            continue
        behind = [point for point in points if point > length]
        if behind:
            yield _finding(one, points, behind, length, plan)


def _length(one: Asked, plan: TrainingPlan) -> float | None:
    if one.amount.unit == "epoch":
        return plan.extent.epochs
    if one.amount.unit == "step":
        return plan.extent.steps
    if one.amount.unit != "":
        return None
    if any(_moves_within_epochs(training.loop) for training in plan.trainings):
        return plan.extent.steps
    # Without a unit they are counted as the run is; a run given in both says nothing.
    known = [length for length in (plan.extent.steps, plan.extent.epochs) if length is not None]
    return known[0] if len(known) == 1 else None


def _moves_within_epochs(loop: TrainingLoop) -> bool:
    """Whether the schedule is seen to move with the batches of an epoch."""
    return epoch_loop(loop) is not None and any(one.round is loop.body for one in schedule_steps(loop))


def _finding(
    one: Asked, points: tuple[float, ...], behind: list[float], length: float, plan: TrainingPlan
) -> Finding:
    all_behind = len(behind) == len(points)
    shown = ", ".join(f"{point:,g}" for point in behind[:3]) + (" ..." if len(behind) > 3 else "")
    told = "the rate never drops" if all_behind else "the last drops never come"
    return Finding(
        (one.setting.where, *plan.extent.where),
        f"{one.name}: {shown} lie behind the end of the run at {length:,.0f}: {told}",
        evidence={"milestones": list(points), "run": length},
        strength=1.0 if all_behind else 0.0,
        severity=None if all_behind else Severity.NOTE,
    )
