"""The average of the weights is too slow for the run.

## What it checks
The decay of an exponential moving average against the number of updates: the share of the weights at the
start that is still in the average at the end, decay to the power of the updates.

## Why it matters
A decay of 0.9999 looks back over 10,000 updates. After 5,000 of them, 61% of the average are the weights
that the run began with: what is evaluated and saved lags behind, or is mostly noise.

## When it is harmless
A decay that grows from small values (a power, a warm-up, `(1 + n) / (10 + n)`) forgets the start at once,
and nothing is said where the settings or the source have one. A run that starts from trained weights has a
sensible average from the beginning; it is only noted there, and where the source of the average was not
seen. 0.999 over 40,000 updates keeps nothing of the start.
A run of fewer than 50 steps only tries the code out.

## References
- ema-pytorch: power and inv_gamma
- timm: ModelEmaV3
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.recipe.quantities import Asked
from stethoscope.run import Fix
from stethoscope.signals.average_ramp import AverageRamp
from stethoscope.signals.editable_files import EditableFiles
from stethoscope.signals.settings import Settings
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="SET118", since="0.2", severity=Severity.WARNING, subject=Subject.SETTINGS)

LOOKS_BACK = 10.0  # times the average forgets what it holds within the run
KEPT = 0.2  # of the start: a fifth of untrained weights shows in every metric
NO_RAMP = 2.0  # powers from here on reach the full decay within a few updates
_PRETRAINED = re.compile(r"pretrain|finetune|fine_tune|init_from|model_name_or_path|resume|start_from|ckpt")


def examine(
    plan: TrainingPlan,
    settings: Settings | None,
    ramp: AverageRamp | None,
    files: EditableFiles | None,
) -> Iterator[Finding]:
    """Fire where the start is still a good part of the average at the end."""
    asked = plan["EMA decay"].only()
    if asked is None:
        return
    if plan.extent.is_trial:
        return
    if _ramps(plan) or (ramp is not None and ramp.grows):
        return
    if plan.extent.steps is None:
        raise InsufficientData("the settings do not say how many steps the run has")
    updates = plan.extent.steps / (plan.window or 1.0)
    kept = (asked.amount.number or 0.0) ** updates
    if kept >= KEPT:
        seen = ramp is not None and not _is_pretrained(settings)
        yield _finding(asked, updates, kept, seen, files)


def _ramps(plan: TrainingPlan) -> bool:
    for one in plan["EMA ramp"].asked:
        value = one.amount.value
        if one.amount.part == "power" and isinstance(value, int | float) and 0 < value < NO_RAMP:
            return True
        if one.amount.part in {"warm-up", "start"} and value:
            return True
    return False


def _is_pretrained(settings: Settings | None) -> bool:
    if settings is None:
        return False
    return any(
        _PRETRAINED.search(setting.leaf.lower()) and setting.value not in (None, False, "", 0, "none", "~")
        for setting in settings
    )


def _finding(asked: Asked, updates: float, kept: float, seen: bool, files: EditableFiles | None) -> Finding:
    decay = asked.amount.number or 0.0
    return Finding(
        asked.setting.where,
        f"{asked.name} is {decay:g}, which looks back over {1 / (1 - decay):,.0f} updates, and the run has "
        f"{updates:,.0f}: {kept:.0%} of the average are the weights it began with",
        evidence={"decay": decay, "updates": updates, "kept": kept},
        strength=1.0 if seen else 0.0,
        severity=None if seen else Severity.NOTE,
        fix=_faster(asked, updates, files),
    )


def _faster(asked: Asked, updates: float, files: EditableFiles | None) -> Fix | None:
    """A decay that looks back over a tenth of the run, with one digit behind its nines."""
    forgotten = LOOKS_BACK / updates
    if files is None or forgotten >= 1:
        return None
    digits = -math.floor(math.log10(forgotten))
    decay = round(1 - forgotten, digits)
    return files.with_value(asked.setting, decay, "let the average look back over a tenth of the run")
