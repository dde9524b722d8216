"""A cosine schedule ends early in the run, and the learning rate swings up again.

## What it checks
`T_max` of a CosineAnnealingLR against the number of steps of the run, both from the settings, where the run
is given in steps. A period that fits several times into the run is reported, and so is one that fits
several times into its epochs: no schedule is moved less often than once an epoch. Where the source asks
Lightning to move it with every batch (`"interval": "step"`), a `T_max` of no more than the epochs is.

## Why it matters
CosineAnnealingLR does not stop at T_max: behind it the rate rises to its highest again, and falls again. A
T_max that counts epochs in a framework that moves the schedule with every step makes it swing hundreds of
times; the loss looks noisy for no visible reason.

## When it is harmless
A T_max of the run or more. One that ends shortly before the run (the rate is still low), and schedules
that restart on purpose (CosineAnnealingWarmRestarts, CosineAnnealingRestartLR with periods).

## References
- torch.optim.lr_scheduler.CosineAnnealingLR
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.recipe.quantities import Asked
from stethoscope.recipe.quantities.decay_length import PART_OF_T_MAX
from stethoscope.run import Where
from stethoscope.signals.editable_files import EditableFiles
from stethoscope.signals.scheduler_intervals import SchedulerIntervals
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="SET114", since="0.2", severity=Severity.WARNING, subject=Subject.SETTINGS)

PERIODS = 3.0  # T_max fits this often into the run: the rate has been at its highest again
FEWEST_EPOCHS = 3  # a shorter period is a toy's
_RESTARTS = re.compile(r"restart|cycl", re.IGNORECASE)


def examine(
    plan: TrainingPlan, intervals: SchedulerIntervals | None, files: EditableFiles | None
) -> Iterator[Finding]:
    """Fire where the run is several times as long as T_max, and both count steps."""
    lengths = [one for one in plan["decay length"].asked if one.amount.part == PART_OF_T_MAX]
    if not lengths or any(_RESTARTS.search(str(one.amount.value)) for one in plan["schedule"].asked):
        return
    if plan["length of the run"].numbers("epoch"):
        if intervals is not None and intervals.with_every_batch is not None:
            yield from _of_epochs(plan, lengths, intervals.with_every_batch)
        else:
            yield from _within_epochs(plan, lengths, files)
        return
    steps = plan["length of the run"].only("step")
    if steps is None:
        raise InsufficientData("the settings give no number of steps that T_max could be compared with")
    total = steps.amount.number or 0.0
    for one in lengths:
        period = one.amount.number or 0.0
        if total >= PERIODS * period:
            yield Finding(
                (one.setting.where, steps.setting.where),
                f"{one.name} is {period:,g}, and {steps.name} is {total:,.0f}: the rate goes up again "
                f"{total / period / 2:,.0f} times",
                evidence={"T_max": period, "run": total},
                fix=files.with_value(one.setting, total, "let the cosine take the whole run")
                if files
                else None,
            )


def _within_epochs(
    plan: TrainingPlan, lengths: Sequence[Asked], files: EditableFiles | None
) -> Iterator[Finding]:
    """Report periods of which several fit even into the epochs."""
    epochs = plan["length of the run"].only("epoch")
    for one in lengths if epochs is not None else ():
        total, period = epochs.amount.number or 0.0 if epochs else 0.0, one.amount.number or 0.0
        if epochs is not None and period >= FEWEST_EPOCHS and total >= PERIODS * period:
            yield Finding(
                (one.setting.where, epochs.setting.where),
                f"{one.name} is {period:,g}, and {epochs.name} is {total:,.0f}: the rate goes up again "
                f"{total / period / 2:,.0f} times, even if it is moved but once an epoch",
                evidence={"T_max": period, "epochs": total, "in_any_unit": True},
                fix=files.with_value(one.setting, total, "let the cosine take the whole run")
                if files
                else None,
            )


def _of_epochs(plan: TrainingPlan, lengths: Sequence[Asked], moved: Where) -> Iterator[Finding]:
    """Report periods that count epochs and are moved with every batch."""
    epochs = plan["length of the run"].only("epoch")
    for one in lengths if epochs is not None else ():
        total, period = epochs.amount.number or 0.0 if epochs else 0.0, one.amount.number or 0.0
        if FEWEST_EPOCHS <= period <= total and epochs is not None:
            yield Finding(
                (one.setting.where, epochs.setting.where, moved),
                f"{one.name} is {period:,g}, and the schedule is moved with every batch: within the "
                f"{total:,g} epochs of the run the rate goes down and up again every {2 * period:,g} batches",
                evidence={"T_max": period, "epochs": total},
            )
