"""A setting stands twice in one section of a YAML file.

## What it checks
Keys that a later line of the same section sets again, whole sections included.

## Why it matters
PyYAML takes the last one and says nothing: a change to the first has no effect, and a section that is
repeated replaces the first with all that it held. OmegaConf and ruamel refuse the file.

## When it is harmless
Where both say the same it is only noted. A section that overrides an anchor by `<<` is not a repetition,
nor is the same name in two sections, nor a later file that overrides an earlier one.

## References
- https://yaml.org/spec/1.2.2/#3213-node-comparison
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.recipe.repeated_keys import RepeatedKey
from stethoscope.run import ConfigFile, Fix, Level, Splice, Where
from stethoscope.signals.repeated_settings import RepeatedSettings

RULE = Rule(code="SET109", since="0.2", severity=Severity.WARNING, subject=Subject.SETTINGS)

LONGEST_VALUE = 40


def examine(repeated: RepeatedSettings) -> Iterator[Finding]:
    """Fire on each key that is set again."""
    for file, key in repeated:
        yield _finding(file, key)


def _finding(file: ConfigFile, key: RepeatedKey) -> Finding:
    first, last = key.lines
    same = key.values[0] == key.values[1]
    if same:
        told = f"{key.name} is set twice, to the same: on line {first} and on line {last}"
    elif any("\n" in value for value in key.values):
        told = f"{key.name} begins on line {first} and again on line {last}: all of the first is lost"
    else:
        lost, kept = map(_short, key.values)
        told = f"{key.name} is set twice: {kept} counts, {lost} on line {first} does not"
    return Finding(
        (Where(file.file, line=last), Where(file.file, line=first)),
        told,
        evidence={"key": key.name, "first": _short(key.values[0]), "counts": _short(key.values[1])},
        strength=0.0 if same else 1.0,
        proof="PyYAML keeps the last of two equal keys",
        severity=Severity.NOTE if same else None,
        fix=_fix(file, key),
    )


def _short(value: str) -> str:
    return value if len(value) <= LONGEST_VALUE else value[: LONGEST_VALUE - 3] + "..."


def _fix(file: ConfigFile, key: RepeatedKey) -> Fix | None:
    """The line that does not count is taken out, where it is a line of its own."""
    start, end = key.first_entry
    text = file.text
    begin = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    is_line = not text[begin:start].strip() and stop > 0 and "\n" not in text[start:end]
    if not file.maintained or not is_line or text[end:stop].strip() not in ("",):
        return None
    return Fix("remove the line that does not count", Level.UNSAFE, (Splice(file.file, begin, stop + 1, ""),))
