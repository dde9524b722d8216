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
from dataclasses import replace

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.loop.schedule_steps import epoch_loop, schedule_steps
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.recipe.quantities import Asked
from stethoscope.run import Fix, Level, Splice
from stethoscope.signals.editable_files import EditableFiles
from stethoscope.signals.settings import Settings
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="SET113", since="0.2", severity=Severity.WARNING, subject=Subject.SETTINGS)


def examine(plan: TrainingPlan, settings: Settings | None, files: EditableFiles | None) -> Iterator[Finding]:
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
            fix = _without(one, behind, settings, files)
            yield replace(_finding(one, points, behind, length, plan), fix=fix)


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


def _without(
    one: Asked, behind: list[float], settings: Settings | None, files: EditableFiles | None
) -> Fix | None:
    """The last milestones taken out where they are never met, so that nothing else changes."""
    key = one.setting.key[:-1]
    points = [other for other in settings or () if other.key[:-1] == key and isinstance(other.key[-1], int)]
    kept, text = len(points) - len(behind), files.texts.get(one.setting.where.file) if files else None
    values = [other.value for other in points[kept:]]
    spans = [
        other.span
        for other in points
        if other.span is not None and other.where.file == one.setting.where.file
    ]
    if text is None or kept < 1 or values != behind or len(spans) != len(points):
        return None
    start, end = spans[kept - 1][1], spans[-1][1]
    if "#" in text[start:end]:
        return None
    return Fix("leave out what is never met", Level.SAFE, (Splice(one.setting.where.file, start, end, ""),))
