"""The schedule is laid out for a much longer run than this one.

## What it checks
The number of steps that the settings plan (or that the decay is laid out over) against the steps that the
run's epochs allow: whichever is over first ends the run.

## Why it matters
A decay over 100,000 steps in a run of 4,000 is a constant rate. Nothing that is planned for later happens:
no decay, no late checkpoint, no switch of weights.

## When it is harmless
A number of steps that only guards against running for ever. A schedule up to three times as long as the run
still decays somewhat, and is left alone. Where no decay is asked for, nothing is lost, and it is not
reported.
A run of fewer than 50 steps only tries the code out.

## References
- Score-entropy diffusion planned for 500,000 steps, whose 50 epochs ended at 14,800.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.recipe.quantities import Asked
from stethoscope.signals.editable_files import EditableFiles
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="SET115", since="0.2", severity=Severity.WARNING, subject=Subject.SETTINGS)

LONGER = 3.0  # times the run: a cosine has then lost a quarter of its height, a line a third
_DECAYS = re.compile(r"cos|linear|poly|decay|wsd|trapezoid|onecycle", re.IGNORECASE)


def examine(plan: TrainingPlan, files: EditableFiles | None) -> Iterator[Finding]:
    """Fire where what is laid out over steps is much longer than the epochs of the run."""
    decays = any(_DECAYS.search(str(one.amount.value)) for one in plan["schedule"].asked)
    yield from _in_epochs(plan, files)
    explicit = [one for one in plan["decay length"].asked if one.amount.unit == "step"]
    laid_out = explicit or (_planned(plan) if decays else [])
    if not laid_out:
        return
    if plan.extent.steps is None or plan.schedule_extent is None:
        raise InsufficientData("the settings and the log do not say how many steps the run has")
    run, unit = plan.schedule_extent
    if plan.extent.is_trial:
        return
    for one in laid_out:
        length = one.amount.number or 0.0
        # One that is laid out in batches and moved with updates is another rule's.
        if length >= LONGER * plan.extent.steps and one.setting.where not in plan.extent.where:
            yield Finding(
                (one.setting.where, *plan.extent.where),
                f"{one.name} is {length:,.0f}, and the run has {run:,.0f} {unit} "
                f"({plan.extent.why}): the rate hardly decays",
                evidence={"laid out for": length, "run": run, "unit": unit},
                fix=files.with_value(one.setting, round(run), "lay it out over the run") if files else None,
            )
            return


def _in_epochs(plan: TrainingPlan, files: EditableFiles | None) -> Iterator[Finding]:
    """A decay and a run that are both given in epochs."""
    run = plan["length of the run"].only("epoch")
    asked = plan["decay length"].only("epoch")
    if run is None or asked is None or plan.extent.is_trial:
        return
    # A default may belong to another schedule, and `decay_epochs` is as often the length of one step.
    if asked.is_default or asked.setting.leaf.endswith("decay_epochs"):
        return
    epochs, length = run.amount.number or 0.0, asked.amount.number or 0.0
    if 0 < LONGER * epochs <= length:
        yield Finding(
            (asked.setting.where, run.setting.where),
            f"{asked.name} is {length:,g} epochs, and the run has {epochs:,g}: the rate hardly decays",
            evidence={"laid out for": length, "run": epochs, "unit": "epochs"},
        )


def _planned(plan: TrainingPlan) -> list[Asked]:
    only = plan["length of the run"].only("step")
    return [only] if only is not None else []
