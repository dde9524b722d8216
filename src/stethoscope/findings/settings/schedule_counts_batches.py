"""The length of the schedule counts batches, and the schedule is moved once an update.

## What it checks
A number of steps in the settings (`total_steps`, `lr_decay_steps`, `T_max`) that is exactly the number of
batches of the run (epochs times the batches of an epoch), in a program that gathers gradients over several
batches and moves its schedule with each update. How many batches an epoch has is computed from the size of
the data and of the batch, or taken from the log.

## Why it matters
With a window of N there are N times fewer updates than batches: the schedule gets through 1/N of its course.
The rate stays near its peak to the end, and the decay that makes a run converge never comes.

## When it is harmless
A length of as many updates, and a schedule that is moved with every batch. Nothing is said where the source
divides the setting, or stops by it: it may well count batches there.

## References
- transformers.get_scheduler, num_training_steps
- accelerate: schedulers and gradient accumulation
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.recipe.quantities import Asked
from stethoscope.signals.editable_files import EditableFiles
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="SET122", since="0.2", severity=Severity.WARNING, subject=Subject.SETTINGS)

SAME = 0.02  # of the number: a last batch that is dropped, an epoch that is rounded


def examine(plan: TrainingPlan, files: EditableFiles | None) -> Iterator[Finding]:
    """Fire on each length that is as many as the batches where the schedule counts updates."""
    window = plan.window
    if not plan.schedule_per_update or window is None or window <= 1:
        return
    if plan.batches is None:
        raise InsufficientData("the settings do not say how many batches the run has")
    steps = [one for one in plan["length of the run"].asked if one.amount.unit == "step"]
    for one in (*steps, *plan["decay length"].asked):
        number = one.amount.number or 0.0
        if abs(number - plan.batches) <= SAME * plan.batches and not _is_handled(one, plan):
            yield _finding(one, number, window, files)


def _is_handled(one: Asked, plan: TrainingPlan) -> bool:
    """Whether the source divides the setting, compares with it or counts up to it."""
    name = re.escape(one.setting.leaf)
    read = rf"\b{name}\b[\"'\])]*"
    handled = re.compile(rf"{read}\s*//|(?:range|ceil|trange)\([^()\n]*{read}|[<>]=?\s*[\w.\[\"']*{read}")
    read_at_all = re.compile(read)
    texts = [training.loop.run.index.program for training in plan.trainings]
    sources = {source.file: source.text for program in texts for source in program}
    said = "\n".join(sources.values())
    return bool(handled.search(said)) or not read_at_all.search(said)


def _finding(one: Asked, number: float, window: float, files: EditableFiles | None) -> Finding:
    return Finding(
        one.setting.where,
        f"{one.name} is {number:,.0f}, the number of batches, and the schedule moves once in {window:,.0f} "
        f"of them: it gets through 1/{window:,.0f} of its course",
        evidence={"length": number, "window": window, "updates": number / window},
        fix=files.with_value(one.setting, number // window, "count the updates") if files else None,
    )
