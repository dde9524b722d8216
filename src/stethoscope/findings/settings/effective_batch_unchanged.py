"""A change of batch and accumulation leaves the effective batch as it was.

## What it checks
Batch and accumulation that were changed together: what the settings say against what the same file has
commented out, and against what an earlier part of the log recorded. Where the products are the same, the
change is none for the gradient.

## Why it matters
Four samples gathered sixteen times and 32 gathered twice are the same update of 64. Whoever makes that change
against noisy gradients or a falling score looks for its effect in vain, and may believe to see one.

## When it is harmless
The change saves memory or time, and that is what it is mostly made for; so this is only noted. Networks with
batch normalisation and contrastive losses do see the smaller batch.

## References
- McCandlish et al. 2018, An Empirical Model of Large-Batch Training
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.recipe.quantities import Asked
from stethoscope.run import ConfigFile, Where
from stethoscope.signals.settings import Settings
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="SET123", since="0.2", severity=Severity.NOTE, subject=Subject.SETTINGS)

Value = tuple[float, Where]


def examine(plan: TrainingPlan, settings: Settings) -> Iterator[Finding]:
    """Note an earlier pair of batch and accumulation with the same product."""
    each, window = _in_use(plan["batch per device"].asked), _in_use(plan["accumulation"].asked)
    if each is None or window is None:
        return
    for batch, gathered in _earlier(settings, each, window):
        product = (each.amount.number or 1.0) * (window.amount.number or 1.0)
        if batch[0] * gathered[0] == product and batch[0] != each.amount.number:
            yield Finding(
                (each.setting.where, window.setting.where, batch[1], gathered[1]),
                f"{each.name} {each.amount.number:,.0f} x {window.name} {window.amount.number:,.0f} is the "
                f"same effective batch as {batch[0]:,.0f} x {gathered[0]:,.0f} before: {product:,.0f}",
                evidence={"product": product, "before": f"{batch[0]:g} x {gathered[0]:g}"},
                strength=0.0,
            )
            return


def _in_use(asked: tuple[Asked, ...]) -> Asked | None:
    """The setting that counts: the first, which the latest record or the command line gives."""
    return next((one for one in asked if one.amount.number is not None), None)


def _earlier(settings: Settings, each: Asked, window: Asked) -> Iterator[tuple[Value, Value]]:
    """The pairs that were in use before: commented out in the same files, or recorded earlier."""
    for file in settings.recipe.files:
        if file.syntax != "json":
            pair = _commented(file, each), _commented(file, window)
            if pair[0] is not None and pair[1] is not None:
                yield pair[0], pair[1]
    for file in settings.recipe.files:
        found = [_recorded(settings, file, one) for one in (each, window)]
        if file.origin == "log" and found[0] is not None and found[1] is not None:
            yield found[0], found[1]


def _commented(file: ConfigFile, asked: Asked) -> Value | None:
    """The value of a line that is commented out, under the name of a setting or of its variable."""
    variable = re.match(r"\s*(?:export\s+)?(\w+)\s*=", _line(file, asked.setting.where))
    names = {asked.setting.leaf, *([variable[1]] if variable else [])}
    flags = "|".join(re.escape(name).replace("_", "[-_]") for name in sorted(names))
    pattern = re.compile(rf"^\s*#[\s#]*(?:export\s+|--)?(?:{flags})\s*[:= ]\s*[\"']?(\d+)\b", re.MULTILINE)
    found = pattern.search(file.text)
    if found is None:
        return None
    return float(found[1]), Where(file.file, line=file.text.count("\n", 0, found.start(1)) + 1)


def _line(file: ConfigFile, where: Where) -> str:
    lines = file.text.split("\n")
    is_here = where.file == file.file and where.line is not None and where.line <= len(lines)
    return lines[where.line - 1] if is_here and where.line is not None else ""


def _recorded(settings: Settings, file: ConfigFile, asked: Asked) -> Value | None:
    """What another record of the log gave the setting."""
    inside = [
        one
        for one in settings
        if one.dotted == asked.setting.dotted and one.where.file == file.file and one is not asked.setting
    ]
    values = [one for one in inside if isinstance(one.value, int) and not isinstance(one.value, bool)]
    return (float(str(values[0].value)), values[0].where) if values else None
