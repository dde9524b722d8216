"""One part of the network is not moved by any step.

## What it checks
The logged size of the updates part by part: one is exactly zero on every line, at least twenty of them,
while another is not. Where settings or source speak of freezing, nothing is reported.

## Why it matters
The part has no gradient, is in no optimizer, or its updates are lost on the way: by a kernel that ignores
them, or in the rounding of half precision. What it holds is what it began with, and every setting of the
optimizer is without effect on it.

## When it is harmless
A part that is frozen on purpose does not move.

## References
- `torch.optim.Optimizer.state`: a parameter that is updated has an entry
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.every_series import EverySeries
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="NUM151", since="0.2", severity=Severity.WARNING)

LEAST_POINTS = 20
FREEZING = ("requires_grad", "freeze", "frozen", "Freeze", "lora", "LoRA", "peft")


def examine(every: EverySeries, settings: Settings | None, sources: Sources | None) -> Iterator[Finding]:
    """Fire on each part whose logged update is zero from the first line to the last."""
    parts = {name: one.finite() for name, one in every.series.items() if _is_update(name)}
    if len(parts) < 2 or not any(len(one) >= LEAST_POINTS for one in parts.values()):
        raise InsufficientData("the size of the updates was not logged by module")
    if _is_frozen_on_purpose(settings, sources) or not any(one.values.any() for one in parts.values()):
        return
    for series in parts.values():
        if len(series) >= LEAST_POINTS and not series.values.any():
            part = series.logged_as.rpartition("/")[2]
            yield Finding(
                series.where(),
                f"{part} is not moved by any step: its update is exactly 0 on all {len(series):,} lines",
                {"part": part, "lines": len(series)},
                onset=int(series.steps[0]),
            )


def _is_update(name: str) -> bool:
    return name == "update_ratio" or name.startswith("update_ratio/")


def _is_frozen_on_purpose(settings: Settings | None, sources: Sources | None) -> bool:
    named = any(word in one.dotted for one in settings.recipe for word in FREEZING) if settings else False
    return named or (sources is not None and sources.mention(*FREEZING))
