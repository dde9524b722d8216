"""The settings ask for bfloat16 and for a loss scaler.

## What it checks
Settings that ask for bfloat16 together with a gradient scaler that is switched on, a dynamic loss scale, or
a loss scale other than 1.

## Why it matters
bfloat16 has the range of float32: nothing underflows that a scale could save. The scaler waits for the
device at each step, and its growing scale is misread as a sign of trouble.

## When it is harmless
It costs time, not accuracy, and is therefore only noted. Loss-scale numbers of DeepSpeed's `fp16` section
are not in use while that section is switched off.

## References
- torch.amp.GradScaler
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.recipe.quantities import Asked
from stethoscope.signals.editable_files import EditableFiles, off
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="SET119", since="0.2", severity=Severity.NOTE, subject=Subject.SETTINGS)


def examine(plan: TrainingPlan, files: EditableFiles | None) -> Iterator[Finding]:
    """Note each setting that switches a scaler on beside bfloat16."""
    if not plan["precision"].asked:
        raise InsufficientData("the settings do not speak of a precision")
    if plan.precision != "bf16":
        return
    for one in plan["loss scaling"].asked:
        if _is_on(one) and not one.is_default and "fp16" not in one.setting.dotted.lower():
            yield Finding(
                (one.setting.where, plan["precision"].asked[0].setting.where),
                f"{one.name} asks for a loss scaler, and bfloat16 needs none",
                evidence={"setting": one.name, "value": str(one.amount.value)},
                strength=0.0,
                fix=files.with_value(one.setting, off(one.setting), "switch the scaler off")
                if files and one.amount.part == "switch"
                else None,
            )


def _is_on(one: Asked) -> bool:
    value = one.amount.value
    if one.amount.part == "switch":
        return value is True
    return one.amount.part == "scale" and (value == "dynamic" or (one.amount.number or 1.0) > 1.0)
