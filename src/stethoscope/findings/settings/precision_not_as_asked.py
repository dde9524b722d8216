"""The loss scale moves although the settings ask for a precision that has none.

## What it checks
The logged loss scale against the precision of the settings. In float32 there is no scale; in bfloat16 it
stays at 1.

## Why it matters
A scale that halves is float16 at work: steps are skipped, and every conclusion that was drawn from "it runs
in bfloat16" is wrong.

## When it is harmless
A scale that only grows is a scaler that was left on, which costs time and nothing else: it is only noted. A
scale that never moves says nothing.

## References
- torch.amp.GradScaler
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.signals.loss_scale import LossScale
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="SET107", since="0.2", severity=Severity.WARNING, subject=Subject.RUN)

OCTAVE = 1.9  # a scale moves by factors of two


def examine(plan: TrainingPlan, scale: LossScale) -> Iterator[Finding]:
    """Fire where the scale falls under bfloat16 or float32; note where it only grows."""
    if plan.precision not in {"bf16", "fp32"}:
        if not plan["precision"].asked:
            raise InsufficientData("the settings do not speak of a precision")
        return
    values = scale.series.finite().values
    values = values[values > 0]
    if len(values) < 3 or values.max() < OCTAVE * values.min():
        return
    falls = bool(np.any(values[1:] < np.maximum.accumulate(values)[:-1] / OCTAVE))
    harmless = not falls
    asked = plan["precision"].asked[0]
    told = "falls and rises" if falls else "rises"
    idle = f"a scaler is on that {plan.precision} does not need"
    tail = idle if harmless else "the network runs in float16"
    yield Finding(
        (asked.setting.where, scale.series.where()),
        f"{asked.name} asks for {plan.precision}, and the loss scale {told} between {values.min():g} and "
        f"{values.max():g}: {tail}",
        evidence={"asked": plan.precision, "lowest": float(values.min()), "highest": float(values.max())},
        strength=0.0 if harmless else 1.0,
        severity=Severity.NOTE if harmless else None,
    )
