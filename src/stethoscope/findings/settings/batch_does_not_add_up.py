"""The sizes of the batch contradict each other.

## What it checks
The batch of an update, where the settings state it (`train_batch_size` of DeepSpeed, `global_batch_size`,
`effective_batch_size`, a comment with "effective batch 64"), against the product of the batch per device, the
accumulation and the number of processes, as far as the settings give these. And a DeepSpeed config whose
batch or accumulation is another one than that of the command line.

## Why it matters
Whoever halves the batch to save memory and doubles the accumulation wants the same update. If one of the
numbers stayed behind, the batch is another one than everybody reads, and the learning rate belongs to the
number that is read. DeepSpeed, Transformers and torchtitan refuse to start; a comment stays and misleads.

## When it is harmless
A number of processes that nobody names may be any, and so may one that a launcher leaves to the environment
(`${NGPU:-8}`); then only what no number of processes explains is reported. `auto` is filled in by the
framework. An accumulation that the program derives from the total is not in the settings, and nothing is
said. A comment is only noted.

## References
- DeepSpeed: Batch Size Related Parameters
- torchtitan: training.global_batch_size
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.recipe.quantities import Asked, deepspeed_sections, is_in_sections
from stethoscope.run import ConfigFile, Fix, Setting, Where
from stethoscope.signals.editable_files import EditableFiles
from stethoscope.signals.settings import Settings
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="SET121", since="0.2", severity=Severity.WARNING, subject=Subject.SETTINGS)

_SAID = re.compile(
    r"#.*?\b(?:effective|total|global)[ _-]*(?:train[ _-]*)?(?:batch(?:[ _-]*size)?|bs)\s*"
    r"(?:of|is|=|:|->|~)?\s*(?P<number>\d[\d,_]*)(?![\d.]*\s*(?:[*xk]|tokens))",
    re.IGNORECASE,
)
_FALLBACK = re.compile(r"\$\{\w+:?[-=][\"']?$")  # before the value: `${NGPU:-8}`
_GIVEN_TWICE = {
    "train_micro_batch_size_per_gpu": "per_device_train_batch_size",
    "gradient_accumulation_steps": "gradient_accumulation_steps",
}


def examine(plan: TrainingPlan, settings: Settings, files: EditableFiles | None) -> Iterator[Finding]:
    """Fire where a stated batch is no product of its parts, and where a part is stated twice."""
    apart = list(_given_twice(settings, files))
    if apart:
        yield from apart
        return
    each = plan["batch per device"].only()
    window = plan["accumulation"].only()
    stated = [one for one in plan["effective batch"].asked if not one.is_default]
    comments = list(_comments(settings))
    if not (stated or comments):
        return
    if each is None:
        raise InsufficientData("the settings do not give one batch per device")
    named = [] if _is_left_open(plan, settings) else plan["processes"].asked
    processes = plan.processes if named else None
    for one in stated:
        if not _adds_up(one.amount.number or 0.0, each, window, processes, _is_split(one, window)):
            found = _finding(
                processes, named, each, window, one.name, one.amount.number or 0.0, one.setting.where
            )
            fix = _as_product(found, one, files) if processes is not None else None
            yield replace(found, fix=fix)
    for where, number in comments if window is not None else ():
        if not _adds_up(number, each, window, processes, False):
            yield _finding(processes, named, each, window, "", number, where)


def _is_left_open(plan: TrainingPlan, settings: Settings) -> bool:
    """Whether a launcher takes the number of processes from the environment, and names it for one machine."""
    texts = {file.file: file.text for file in settings.recipe.files if file.syntax == "shell"}
    for one in plan["processes"].asked:
        span = one.setting.span
        if span is not None and _FALLBACK.search(texts.get(one.setting.where.file, "")[: span[0]]):
            return True
    return False


def _is_split(one: Asked, window: Asked | None) -> bool:
    """Whether the framework finds the accumulation by dividing the total."""
    return window is None or one.setting.leaf == "global_batch_size"


def _adds_up(
    total: float, each: Asked, window: Asked | None, processes: float | None, is_split: bool
) -> bool:
    """Whether a batch of an update may be made of these parts."""
    part = each.amount.number or 1.0
    gathered = window.amount.number or 1.0 if window is not None else 1.0
    if is_split:
        return total % (part * (processes or 1.0)) == 0 or total == part
    if processes is None:
        return total % (part * gathered) == 0
    products = {part * gathered * processes, part * gathered}
    if each.amount.part != "device":  # a plain batch size may be that of all devices, or of the update itself
        products |= {part, part * processes}
    return total in products


def _finding(
    count: float | None,
    named: Sequence[Asked],
    each: Asked,
    window: Asked | None,
    name: str,
    total: float,
    where: Where,
) -> Finding:
    parts = [one for one in (each, window) if one is not None]
    told = [f"{one.name} {one.amount.number:,.0f}" for one in parts]
    if count is not None:
        told.append(f"{count:,.0f} process{'es' if count > 1 else ''}")
    product = 1.0
    for number in [*(one.amount.number for one in parts), count]:
        product *= number or 1.0
    said = f"{name} is {total:,.0f}" if name else f"the comment says a batch of {total:,.0f}"
    places = (where, *(one.setting.where for one in (*parts, *named[:1])))
    return Finding(
        tuple(dict.fromkeys(places)),
        f"{said}, and {' x '.join(told)} give {product:,.0f}",
        evidence={"stated": total, "product": product},
        strength=1.0 if name else 0.0,
        severity=None if name else Severity.NOTE,
    )


def _as_product(found: Finding, stated: Asked, files: EditableFiles | None) -> Fix | None:
    """The batch that its parts make, or the next one that they can share."""
    product, total = found.evidence["product"], found.evidence["stated"]
    if files is None or not isinstance(product, float) or not isinstance(total, float):
        return None
    shared = product * math.ceil(total / product) if stated.setting.leaf == "global_batch_size" else product
    return files.with_value(stated.setting, shared, f"state a batch of {shared:,.0f}")


def _given_twice(settings: Settings, files: EditableFiles | None) -> Iterator[Finding]:
    """Parts that a DeepSpeed config and the settings of the trainer give differently."""
    recipe = settings.recipe
    every = (*recipe.settings, *recipe.shadowed)
    sections = deepspeed_sections(every)
    for setting in every:
        other = _GIVEN_TWICE.get(setting.leaf)
        if other is None or not isinstance(setting.value, int) or not is_in_sections(setting, sections):
            continue
        for one in every:
            if one.leaf == other and _is_other(one, setting) and not is_in_sections(one, sections):
                yield Finding(
                    (setting.where, one.where),
                    f"{setting.leaf} is {setting.value} for DeepSpeed, and {one.leaf} is {one.value}",
                    evidence={"deepspeed": setting.value, "other": str(one.value)},
                    fix=files.with_value(setting, '"auto"', "let DeepSpeed take what the trainer has")
                    if files and setting.where.file.endswith(".json")
                    else None,
                )


def _is_other(one: Setting, setting: Setting) -> bool:
    return isinstance(one.value, int) and not isinstance(one.value, bool) and one.value != setting.value


def _comments(settings: Settings) -> Iterator[tuple[Where, float]]:
    for file in settings.recipe.files:
        if file.maintained and file.syntax != "json":
            yield from _comments_in(file)


def _comments_in(file: ConfigFile) -> Iterator[tuple[Where, float]]:
    for count, line in enumerate(file.text.split("\n"), 1):
        found = _SAID.search(line) if "#" in line else None
        if found is not None:
            yield Where(file.file, line=count), float(re.sub("[,_]", "", found["number"]))
