"""A setting is parsed and never used.

## What it checks
Command-line flags (argparse, absl), parameters of commands (click, typer, fire, tyro), fields of option
classes (also those that HfArgumentParser and tyro fill), entries of settings dicts and files, and constants
at the top of a training script. The object that holds the settings is followed from where it is made, and
each value through assignments, attributes, `**settings` and functions of the repository. A setting is
reported when its value reaches nothing but print-outs, log messages, saved records and checks that only
print or stop, and one whose name is taken out of other sections of its file only. Where a launcher passes
it, both places are named. An accumulation that no loop has is told by batch-smaller-than-asked, with the
batch that it makes.

## Why it matters
The run is another one than its settings say, and no change of the value can help. Whoever sets a warm-up and
reads of it in the log plans everything else for it.

## When it is harmless
A setting kept for compatibility, or not asked for in this run (its default switches nothing on), is only
noted. Where the settings object is handed on as a whole to something outside the repository, or keys are
looked up by computed names, nothing is reported: the value may be used there. A use inside a function that
nobody calls counts as a use.

## References
- The dead settings of a diffusion training: accumulation, clipping, schedule, warm-up and resume were parsed
  and logged, and the loop had none of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.run import Where
from stethoscope.signals.training_plan import TrainingPlan
from stethoscope.signals.unused_settings import UnusedSetting, UnusedSettings

RULE = Rule(code="SET103", since="0.1", severity=Severity.WARNING, subject=Subject.SETTINGS)

MENTIONS_NAMED = 3
COSMETIC_NAMED = 8


def examine(unused: UnusedSettings, plan: TrainingPlan | None) -> Iterator[Finding]:
    """Fire on each setting of the training that nothing acts on; others share one note."""
    unmet = plan.unmet_accumulation if plan is not None else None
    for setting in unused.settings:
        if setting.matters and (unmet is None or unmet.setting.leaf != setting.name):
            yield _finding(setting)
    cosmetic = [setting for setting in unused.settings if not setting.matters and setting.is_set]
    if cosmetic:
        yield _shared_note(cosmetic)


def _finding(setting: UnusedSetting) -> Finding:
    value = f" (here {setting.value!r})" if setting.value is not None and setting.is_set else ""
    return Finding(
        (*setting.where, *setting.mentions[:MENTIONS_NAMED]),
        f"{setting.name}{value} is never used: {_mentioned(setting.mentions)}",
        evidence={
            "setting": setting.name,
            "value": setting.value if isinstance(setting.value, str | int | float) else str(setting.value),
            "mentions": len(setting.mentions),
            "asked_for": setting.is_set,
        },
        strength=1.0 if setting.is_set else 0.0,  # a note is no evidence of harm
        proof="every path of the value through the source ends in a print-out, a log, a record or nowhere",
        severity=None if setting.is_set else Severity.NOTE,
    )


def _mentioned(mentions: tuple[Where, ...]) -> str:
    if not mentions:
        return "nothing in the source reads it"
    named = ", ".join(str(place) for place in mentions[:MENTIONS_NAMED])
    more = f" and {len(mentions) - MENTIONS_NAMED} more" if len(mentions) > MENTIONS_NAMED else ""
    return f"it is only printed, logged, saved or checked ({named}{more})"


def _shared_note(settings: list[UnusedSetting]) -> Finding:
    names = ", ".join(setting.name for setting in settings[:COSMETIC_NAMED])
    more = f" and {len(settings) - COSMETIC_NAMED} more" if len(settings) > COSMETIC_NAMED else ""
    return Finding(
        tuple(setting.where[0] for setting in settings[:COSMETIC_NAMED]),
        f"nothing in the source reads {names}{more}",
        evidence={"settings": len(settings)},
        strength=0.0,
        severity=Severity.NOTE,
    )
