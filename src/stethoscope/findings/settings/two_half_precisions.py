"""The settings ask for float16 and for bfloat16 at once.

## What it checks
`fp16: true` beside `bf16: true`, in one section or as the two sections of DeepSpeed.

## Why it matters
Transformers and DeepSpeed stop at it. Programs that do not check take whichever they ask for first, with or
without a loss scaler.

## When it is harmless
`use_amp: true` beside `amp_bf16: true` is one choice told in two steps, and is not meant here.

## References
- transformers.TrainingArguments
- DeepSpeed: BFLOAT16 training options
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.signals.editable_files import EditableFiles, off
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="SET120", since="0.2", severity=Severity.WARNING, subject=Subject.SETTINGS)


def examine(plan: TrainingPlan, files: EditableFiles | None) -> Iterator[Finding]:
    """Fire where both are switched on by switches of the same kind."""
    asked = plan["precision"].asked
    if not asked:
        raise InsufficientData("the settings do not speak of a precision")
    switched = [one for one in asked if one.setting.value is True and not one.is_default]
    for half in switched:
        if half.amount.value != "fp16":
            continue
        for other in switched:
            names = half.name.replace("fp16", ""), other.name.replace("bf16", "").replace("bfloat16", "")
            if other.amount.value == "bf16" and names[0] == names[1]:
                yield Finding(
                    (half.setting.where, other.setting.where),
                    f"{half.name} and {other.name} are both switched on",
                    evidence={"first": half.name, "second": other.name},
                    fix=files.with_value(half.setting, off(half.setting), f"keep {other.name} alone")
                    if files
                    else None,
                )
                return
