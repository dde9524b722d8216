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
from dataclasses import dataclass

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.run import Fix, Setting, Where
from stethoscope.signals.average_ramp import AverageRamp
from stethoscope.signals.editable_files import EditableFiles
from stethoscope.signals.settings import Settings
from stethoscope.signals.training_plan import CODE, Entry, TrainingPlan

RULE = Rule(code="SET118", since="0.2", severity=Severity.WARNING, subject=Subject.SETTINGS)

LOOKS_BACK = 10.0  # times the average forgets what it holds within the run
KEPT = 0.2  # of the start: a fifth of untrained weights shows in every metric
LEAST = 0.5  # what keeps less than half has no memory
NO_RAMP = 2.0  # powers from here on reach the full decay within a few updates
_PRETRAINED = re.compile(r"pretrain|finetune|fine_tune|init_from|model_name_or_path|resume|start_from|ckpt")


def examine(
    plan: TrainingPlan,
    settings: Settings | None,
    ramp: AverageRamp | None,
    files: EditableFiles | None,
) -> Iterator[Finding]:
    """Fire where the start is still a good part of the average at the end."""
    decay = _decay(plan["EMA decay"])
    if decay is None:
        return
    if plan.extent.is_trial:
        return
    if _ramps(plan) or (ramp is not None and ramp.grows):
        return
    updates = plan.updates
    if updates is None:
        raise InsufficientData("the settings do not say how many steps the run has")
    kept = decay.value**updates
    if kept >= KEPT:
        seen = (decay.setting is None or ramp is not None) and not _is_pretrained(settings)
        yield _finding(decay, updates, kept, seen, files)


@dataclass(frozen=True, slots=True)
class _Decay:
    """A decay with its name and place, and the setting that it is, where it is one."""

    value: float
    name: str
    where: Where
    setting: Setting | None = None


def _decay(entry: Entry) -> _Decay | None:
    """The decay that was asked for; where nothing was, the one that the source has."""
    asked = entry.only()
    if asked is not None:
        return _Decay(asked.amount.number or 0.0, asked.name, asked.setting.where, asked.setting)
    taken = {one.amount.number: one for one in entry.in_effect if one.how == CODE}
    number, one = next(iter(taken.items()), (None, None))
    if entry.asked or len(taken) != 1 or number is None or one is None or not one.where:
        return None
    return _Decay(number, "the decay of the average", one.where[0]) if LEAST <= number < 1 else None


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
        if isinstance(setting.value, bool | str)  # a number is how often or how many are saved
    )


def _finding(decay: _Decay, updates: float, kept: float, seen: bool, files: EditableFiles | None) -> Finding:
    horizon = 1 / (1 - decay.value)
    return Finding(
        decay.where,
        f"{decay.name} is {decay.value:g}, which looks back over {horizon:,.0f} updates, and the run "
        f"has {updates:,.0f}: {kept:.0%} of the average are the weights it began with",
        evidence={"decay": decay.value, "updates": updates, "kept": kept},
        strength=1.0 if seen else 0.0,
        severity=None if seen else Severity.NOTE,
        fix=_faster(decay, updates, files),
    )


def _faster(decay: _Decay, updates: float, files: EditableFiles | None) -> Fix | None:
    """A decay that looks back over a tenth of the run, with one digit behind its nines."""
    forgotten = LOOKS_BACK / updates
    if files is None or decay.setting is None or forgotten >= 1:
        return None
    digits = -math.floor(math.log10(forgotten))
    faster = round(1 - forgotten, digits)
    return files.with_value(decay.setting, faster, "let the average look back over a tenth of the run")
