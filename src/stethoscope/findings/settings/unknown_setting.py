"""A setting is unknown to the program.

## What it checks
Every key of the settings against the option classes of the source that ran (dataclasses, attrs classes,
msgspec structs, pydantic models, lists of known keys), section by section. Settings that demonstrably go to a
framework are compared with the names that its releases take: the files of Accelerate, DeepSpeed, torchtitan,
Ultralytics, BasicSR and traiNNer-redux, the `trainer` section of the Lightning CLI, the typed sections of
MMEngine, what Hydra and jsonargparse build (`_target_`, `class_path`), what a parser reads into
`TrainingArguments` besides the program's own classes, and sections that the source hands over whole, as in
`Trainer(**cfg.trainer)`.

## Why it matters
A strict program stops at such a key. A lenient one drops it without a word, and the run goes on with the
default: the change that was meant to help never happened.

## When it is harmless
A key that the source reads anywhere, under any name of the settings, is left alone, and so are sections that
take any key. A strict framework that took steps with the key knows it; then it is a fork's own. Where a file
may hold other programs' keys too, only what can be nothing but a misspelling is reported. A key that exists
only in some releases is noted where none is recorded, and left alone where the recorded one has it.

## References
- `msgspec.Struct`, `forbid_unknown_fields`
- `pydantic.ConfigDict`, `extra`
- `transformers.HfArgumentParser`, `lightning.pytorch.cli.LightningCLI`, `hydra.utils.instantiate`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.run import Fix, Level
from stethoscope.signals.unknown_settings import UnknownSetting, UnknownSettings

RULE = Rule(code="SET101", since="0.1", severity=Severity.WARNING, subject=Subject.SETTINGS)


def examine(unknown: UnknownSettings) -> Iterator[Finding]:
    """Fire on each unknown key."""
    for one in unknown.settings:
        yield _finding(one)


def _finding(one: UnknownSetting) -> Finding:
    places = (one.setting.where,) if one.judge_where is None else (one.setting.where, one.judge_where)
    message = f"{one.name}: {one.history}" if one.history else f"{one.name} is unknown to {one.judge}"
    if one.suggestion:
        message += f"; did you mean {one.suggestion}?"
    rename = Fix(f"call it {one.suggestion}", Level.UNSAFE, (one.rename,)) if one.rename else None
    return Finding(
        places,
        message,
        evidence={
            "key": one.name,
            "suggestion": one.suggestion,
            "judge": one.judge,
            "strict": one.strict,
            "took_steps_with_it": one.took_steps,
        },
        strength=1.0 if one.version_known else 0.0,  # a note is no evidence of harm
        severity=None if one.version_known else Severity.NOTE,
        fix=rename,
    )
