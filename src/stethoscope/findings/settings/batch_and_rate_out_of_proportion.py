"""Batch and learning rate do not fit each other by the settings' own measure.

## What it checks
A base batch that the settings state for their learning rate (`auto_scale_lr.base_batch_size`) against the
effective batch, where nothing scales the rate; and rates of Adam's family at the size of SGD's.

## Why it matters
A rate that was tuned for a batch of 16 is an order too low for one of 256 and an order too high for one of
2. Adam at a rate of 0.1 moves each weight by a tenth at each step.

## When it is harmless
Up to a factor of eight the best rate hardly moves, and the scaling rule itself is a rule of thumb: it is
only noted.

## References
- Goyal et al. 2017, Accurate, Large Minibatch SGD
- mmengine: auto_scale_lr
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.signals.editable_files import EditableFiles, on
from stethoscope.signals.settings import Settings
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="SET117", since="0.2", severity=Severity.NOTE, subject=Subject.SETTINGS)

FACTOR = 8.0
ADAM_TOO_HIGH = 0.1  # a hundred times its default; rates like this are SGD's
_ADAM = re.compile(r"^(?:torch\.optim\.)?(?:n|r)?adamw?(?:_torch\w*)?$", re.IGNORECASE)


def examine(plan: TrainingPlan, settings: Settings, files: EditableFiles | None) -> Iterator[Finding]:
    """Note a batch far from its stated base, and an Adam with a rate of SGD's."""
    rate = plan["learning rate"].only()
    if rate is None:
        raise InsufficientData("the settings do not name one learning rate")
    value = rate.amount.number or 0.0
    kinds = [str(one.amount.value) for one in plan["optimizer"].asked]
    # The rate of a Noam schedule is a factor, for what the width of the network and the step make.
    scales = any(isinstance(one.value, str) and "noam" in one.value.lower() for one in settings)
    adam = bool(kinds) and all(_ADAM.fullmatch(kind) for kind in kinds)
    if adam and value >= ADAM_TOO_HIGH and not scales:
        yield Finding(
            (rate.setting.where, plan["optimizer"].asked[0].setting.where),
            f"{rate.name} is {value:g} with {kinds[0]}, a hundred times what it is used with",
            evidence={"rate": value, "optimizer": kinds[0]},
            strength=0.0,
        )
    base = next((s for s in settings if s.dotted.endswith("auto_scale_lr.base_batch_size")), None)
    switch = next((s for s in settings if s.dotted.endswith("auto_scale_lr.enable")), None)
    batch = plan["effective batch"].in_effect
    if base is None or not batch or not isinstance(base.value, int) or not plan["processes"].asked:
        return
    ratio = (batch[0].amount.number or 1.0) / base.value
    if (switch is None or switch.value is False) and not 1 / FACTOR < ratio < FACTOR:
        yield Finding(
            (base.where, rate.setting.where),
            f"{rate.name} belongs to a batch of {base.value}, and the effective batch is "
            f"{batch[0].amount.value} ({batch[0].said}); auto_scale_lr is off",
            evidence={"base": base.value, "ratio": ratio},
            strength=0.0,
            fix=files.with_value(switch, on(switch), "let the rate follow the batch")
            if files and switch
            else None,
        )
