"""The warm-up is longer than the run.

## What it checks
The length of the learning rate's warm-up against the length of the run, both from the settings, in one unit.
Where the run is given in epochs, its steps are counted from the size of the data or from the log. Where the
schedule was seen to move once an update and gradients are gathered over several batches, the run is counted
in updates. A warm-up of 95% of the run or more is told too, where it is not just the whole run.

## Why it matters
The rate never reaches the one that was asked for, and whatever comes behind the warm-up (the decay, the
restarts) never happens. Most of the run trains with a fraction of the rate.

## When it is harmless
A warm-up of half of the run or less is a choice, and so is one that takes exactly the run (a probe of the
rate). A run that is cut short to try something out ends early on purpose; its settings still say so.
A run of fewer than 50 steps only tries the code out.

## References
- Score-entropy diffusion with a warm-up of 10,000 updates in a run of 3,700.
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.recipe.quantities import Asked
from stethoscope.run import Fix
from stethoscope.signals.editable_files import EditableFiles
from stethoscope.signals.training_plan import Extent, TrainingPlan

RULE = Rule(code="SET111", since="0.2", severity=Severity.WARNING, subject=Subject.SETTINGS)

USUAL = 0.05  # of the run: what warm-ups mostly take
NEARLY = 0.95  # of the run: nothing is left for what comes behind the warm-up
BEYOND = 1.02  # of the run: a warm-up that takes just the run is meant to


def examine(plan: TrainingPlan, files: EditableFiles | None) -> Iterator[Finding]:
    """Fire on each warm-up that does not end within the run."""
    warm_ups = [one for one in plan["warm-up"].asked if one.amount.number]
    if not warm_ups:
        return
    if plan.extent.steps is None and plan.extent.epochs is None:
        raise InsufficientData("the settings do not say how long the run is")
    if plan.extent.is_trial:
        return
    told: set[float] = set()
    for asked in warm_ups:
        number = asked.amount.number or 0.0
        if (
            number not in told
            and (length := _length(asked, plan)) is not None
            and (number > BEYOND * length[0] or NEARLY * length[0] <= number < length[0])
        ):
            told.add(number)
            yield _finding(asked, *length, plan.extent, files)


def _length(asked: Asked, plan: TrainingPlan) -> tuple[float, str] | None:
    """The length of the run in the unit of the warm-up."""
    unit, extent = asked.amount.unit, plan.extent
    if unit == "epoch":
        return (extent.epochs, "epochs") if extent.epochs is not None else None
    return plan.schedule_extent if unit in {"step", ""} else None


def _finding(asked: Asked, length: float, unit: str, extent: Extent, files: EditableFiles | None) -> Finding:
    number = asked.amount.number or 0.0
    why = f" ({extent.why})" if extent.why else ""
    harm = "the warm-up never ends" if number > length else "the warm-up takes nearly all of it"
    return Finding(
        (asked.setting.where, *extent.where),
        f"{asked.name} is {number:,g}, and the run has {length:,.0f} {unit}{why}: {harm}",
        evidence={"warm-up": number, "run": length, "unit": unit},
        strength=1.0,
        fix=_shorter(asked, length, files),
    )


def _shorter(asked: Asked, length: float, files: EditableFiles | None) -> Fix | None:
    """A warm-up of a usual share of the run."""
    share = max(1, round(length * USUAL))
    return files.with_value(asked.setting, share, f"warm up for {USUAL:.0%} of the run") if files else None
