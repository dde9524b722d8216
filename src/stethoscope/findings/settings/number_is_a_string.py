"""A number in a YAML file is loaded as text.

## What it checks
Unquoted YAML values such as `1e-6`, `2e4` or `1.0e6`. They look like numbers, but PyYAML follows YAML 1.1,
where a number in scientific notation needs a dot in front of the exponent and a sign behind the `e`. Without
them it loads the text "1e-6".

## Why it matters
The first comparison or multiplication raises a TypeError, or a part of the program that guards itself against
errors is switched off without a word. Equal text also means that two settings which look different from each
other are compared as strings.

## When it is harmless
Programs that convert the value (`float(...)`, a typed parser) and loaders that follow YAML 1.2 (OmegaConf and
Hydra, ruamel.yaml, yacs) get the number. A run that took steps with the value is not in danger from it, so
it is only noted there, unless the run itself complained. Names, versions and hashes may look like numbers
and are left alone.

## References
- https://yaml.org/type/float.html
- https://github.com/yaml/pyyaml/issues/173
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.run import Fix, Level, Setting, Splice
from stethoscope.signals.number_conversions import NumberConversions
from stethoscope.signals.settings import Settings

RULE = Rule(code="SET102", since="0.1", severity=Severity.WARNING, subject=Subject.SETTINGS)

_LOOKS_LIKE_A_NUMBER = re.compile(r"[-+]?(\d[\d_]*)(\.\d*)?e([-+]?\d{1,3})", re.IGNORECASE)
# Words in a key whose value is a label, whatever it looks like.
_LABELS = frozenset(
    {
        *("name", "tag", "title", "label", "desc", "description", "comment", "note", "notes", "type"),
        *(
            "id",
            "ids",
            "uuid",
            "hash",
            "commit",
            "sha",
            "rev",
            "revision",
            "branch",
            "version",
            "key",
            "token",
        ),
        *("run", "exp", "experiment", "project", "group", "date", "seed", "suffix", "prefix"),
        *("dir", "path", "file", "folder"),
    }
)


def examine(settings: Settings, conversions: NumberConversions | None) -> Iterator[Finding]:
    """Fire on every number that PyYAML loads as text and the program does not convert."""
    sweeps = _sweeps(settings)
    for setting in settings:
        if setting.where.file in sweeps and setting.key[:1] == ("parameters",):
            continue  # typed behind the flags of each run, as text
        if not _is_number_as_text(setting) or _is_label(setting):
            continue
        if conversions is None or not conversions.may_convert(setting.leaf):
            yield _finding(setting, settings)


def _sweeps(settings: Settings) -> frozenset[object]:
    """The files that list what runs of a search are started with: `method`, `parameters`, `metric`."""
    top: dict[object, set[object]] = {}
    for setting in settings:
        top.setdefault(setting.where.file, set()).update(setting.key[:1])
    return frozenset(file for file, keys in top.items() if {"method", "parameters"} <= keys)


def _is_number_as_text(setting: Setting) -> bool:
    # A value seen through an alias is reported once, where it is written.
    written_here = setting.plain and setting.span is not None
    return (
        written_here
        and isinstance(setting.value, str)
        and bool(_LOOKS_LIKE_A_NUMBER.fullmatch(setting.value))
    )


def _is_label(setting: Setting) -> bool:
    return bool(_LABELS.intersection(re.split(r"[_\W]+", setting.leaf.lower())))


def _finding(setting: Setting, settings: Settings) -> Finding:
    text = str(setting.value)
    number = as_yaml_number(text)
    harmless = settings.trained_with(setting) and not any("'str'" in said for said in settings.complaints)
    message = f'{setting.dotted}: PyYAML loads {text} as the text "{text}", not as a number; write {number}'
    if harmless:
        message += " (this run took steps with it, so something converts it or does not use it)"
    return Finding(
        setting.where,
        message,
        evidence={"key": setting.dotted, "text": text, "write": number, "took_steps_with_it": harmless},
        strength=0.0 if harmless else 1.0,  # a note is no evidence of harm
        proof="YAML 1.1 defines numbers with an exponent by a pattern that this text does not match",
        severity=Severity.NOTE if harmless else None,
        fix=_fix(setting, settings, number),
    )


def _fix(setting: Setting, settings: Settings, number: str) -> Fix | None:
    """The number with its dot; records of a run stay as they are."""
    file = settings.file_of(setting)
    if file is None or not file.maintained or setting.span is None:
        return None
    return Fix(f"write {number}", Level.SAFE, (Splice(file.file, *setting.span, number),))


def as_yaml_number(text: str) -> str:
    """The same number as both YAML 1.1 and YAML 1.2 read it: with a dot and a signed exponent."""
    mantissa, _, exponent = text.lower().partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    elif mantissa.endswith("."):
        mantissa += "0"
    return f"{mantissa}e{exponent if exponent[0] in '+-' else '+' + exponent}"
