"""The curriculum is longer than the run.

## What it checks
The length of a curriculum against the length of the run, both from the settings, in one unit.

## Why it matters
The training never reaches the task that it is meant for: it ends while the data is still made easier. A
validation that follows the curriculum hides it.

## When it is harmless
A curriculum that is switched off, and one that ends with the run.
A run of fewer than 50 steps only tries the code out.

## References
- Score-entropy diffusion with a curriculum of 20,000 steps in a run of 14,800.
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.signals.editable_files import EditableFiles
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="SET112", since="0.2", severity=Severity.WARNING, subject=Subject.SETTINGS)

SHARE = 0.5  # of the run, for a curriculum that leaves time for the full task
BEYOND = 1.1  # of the run: an exponential ramp never quite ends, and the last tenth changes little


def examine(plan: TrainingPlan, files: EditableFiles | None) -> Iterator[Finding]:
    """Fire on each length of a curriculum that is not over by the end of the run."""
    asked = plan["curriculum"].asked
    if any(one.amount.part == "switch" and one.amount.value is False for one in asked):
        return
    lengths = [one for one in asked if one.amount.part == "length"]
    extent = plan.extent
    if plan.extent.is_trial:
        return
    if lengths and extent.steps is None and extent.epochs is None:
        raise InsufficientData("the settings do not say how long the run is")
    for one in lengths:
        number = one.amount.number or 0.0
        of_epochs = one.amount.unit == "epoch"
        run = extent.epochs if of_epochs else extent.steps
        if run is None or one.amount.unit not in {"epoch", "step", ""} or number <= BEYOND * run:
            continue
        unit = "epochs" if of_epochs else "steps"
        why = f" ({extent.why})" if extent.why and not of_epochs else ""
        yield Finding(
            (one.setting.where, *extent.where),
            f"{one.name} is {number:,g}, and the run has {run:,.0f} {unit}{why}: the full task is never met",
            evidence={"curriculum": number, "run": run, "unit": unit},
            fix=files.with_value(
                one.setting, max(1, round(run * SHARE)), "let the curriculum end within the run"
            )
            if files
            else None,
        )
