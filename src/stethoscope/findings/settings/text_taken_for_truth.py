"""A text that says no is taken for yes.

## What it checks
Options that argparse turns into truth values by `type=bool`, where a launcher passes `False`, `0` or `no`;
variables of the environment and options whose default is such a text; and settings that are such a text in
quotes. The last three are reported where the program only asks whether they are true.

## Why it matters
Every text but an empty one is true: `bool("False")` is. What was switched off is on, and no message says so.

## When it is harmless
A text that is compared, turned into a number or looked up is understood. `type=bool` without a launcher that
passes a no is only noted: whoever passes nothing gets the default. A run that somebody wanted switched on is
switched on.

## References
- argparse: "The bool() function is not recommended as a type converter"
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import replaced
from stethoscope.program.index import Index, index
from stethoscope.program.settings.mentions import mentions
from stethoscope.program.settings.texts_as_truth import (
    BooleanOption,
    asked_for_truth,
    boolean_options,
    environment_texts,
    says_no,
    text_options,
)
from stethoscope.run import Fix, Level, Setting
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="SET229", since="0.4", severity=Severity.WARNING, subject=Subject.SOURCE)

READS_WORDS = 'lambda text: text.lower() in {"1", "true", "yes", "on"}'


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each no that is taken for a yes."""
    known = index(sources.program)
    yield from _options(known, settings)
    for spot, default in environment_texts(known):
        yield Finding(
            spot.where,
            f"this is true even where the variable is not set: its default is the text {default!r}",
            evidence={"default": default},
            proof="every text but an empty one is true",
        )
    for option in text_options(known):
        yield Finding(
            (option.call.where, option.asked.where),
            f"{option.name} is the text {option.text!r} by default, and the program asks whether it is true",
            evidence={"option": option.name, "default": option.text},
            proof="every text but an empty one is true",
        )
    yield from _quoted(known, settings)


def _options(known: Index, settings: Settings | None) -> Iterator[Finding]:
    given = [one for one in settings or () if settings is not None and _is_launched(one, settings)]
    options = list(boolean_options(known))
    denied = [(option, next((one for one in given if _is_no(one, option)), None)) for option in options]
    for option, setting in denied:
        if setting is not None:
            yield Finding(
                (setting.where, option.call.where),
                f"{option.name} is passed {setting.text or setting.value}, which `type=bool` makes true",
                evidence={"option": option.name, "passed": str(setting.value)},
                proof="every text but an empty one is true",
                fix=_fix(option),
            )
    if options and not any(setting for _, setting in denied):
        names = ", ".join(option.name for option in options[:5])
        yield Finding(
            tuple(option.call.where for option in options[:5]),
            f"`type=bool` makes every text true, `False` too: {names}",
            evidence={"options": len(options)},
            strength=0.0,
            severity=Severity.NOTE,
        )


def _is_launched(setting: Setting, settings: Settings) -> bool:
    file = settings.file_of(setting)
    return file is not None and file.syntax == "shell" and len(setting.key) == 1


def _is_no(setting: Setting, option: BooleanOption) -> bool:
    said = setting.text or setting.value
    is_no = says_no(str(said).strip("'\""))
    return is_no and setting.leaf.replace("-", "_") == option.name


def _quoted(known: Index, settings: Settings | None) -> Iterator[Finding]:
    """Settings that are a no in quotes."""
    code = mentions(known)
    for setting in settings or ():
        file = settings.file_of(setting) if settings is not None else None
        is_text = isinstance(setting.value, str) and setting.value.strip().lower() in {"false", "no", "off"}
        if not is_text or file is None or file.syntax == "shell" or not setting.known:
            continue
        asked = asked_for_truth(setting.leaf, code)
        if asked is not None:
            yield Finding(
                (setting.where, asked.where),
                f"{setting.dotted} is the text {setting.value!r}, and the program asks whether it is true",
                evidence={"key": setting.dotted, "text": str(setting.value)},
                proof="every text but an empty one is true",
            )


def _fix(option: BooleanOption) -> Fix | None:
    splice = replaced(option.call.source, option.type, READS_WORDS)
    return Fix("read the word", Level.UNSAFE, (splice,)) if splice is not None else None
