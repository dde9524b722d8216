"""A cosine schedule ends early in the run, and the learning rate swings up again.

## What it checks
`T_max` of a CosineAnnealingLR against the number of steps of the run, both from the settings, where the run
is given in steps. A period that fits several times into the run is reported.

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
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.recipe.quantities.decay_length import PART_OF_T_MAX
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="SET114", since="0.2", severity=Severity.WARNING, subject=Subject.SETTINGS)

PERIODS = 3.0  # T_max fits this often into the run: the rate has been at its highest again
_RESTARTS = re.compile(r"restart|cycl", re.IGNORECASE)


def examine(plan: TrainingPlan) -> Iterator[Finding]:
    """Fire where the run is several times as long as T_max, and both count steps."""
    lengths = [one for one in plan["decay length"].asked if one.amount.part == PART_OF_T_MAX]
    if not lengths or any(_RESTARTS.search(str(one.amount.value)) for one in plan["schedule"].asked):
        return
    steps = plan["length of the run"].only("step")
    if steps is None:
        raise InsufficientData("the settings give no number of steps that T_max could be compared with")
    if plan["length of the run"].numbers("epoch"):
        return  # T_max may count epochs, and be moved once an epoch
    total = steps.amount.number or 0.0
    for one in lengths:
        period = one.amount.number or 0.0
        if total >= PERIODS * period:
            yield Finding(
                (one.setting.where, steps.setting.where),
                f"{one.name} is {period:,g}, and {steps.name} is {total:,.0f}: the rate goes up again "
                f"{total / period / 2:,.0f} times",
                evidence={"T_max": period, "run": total},
            )
