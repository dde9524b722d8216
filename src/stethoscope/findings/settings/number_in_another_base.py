"""A number in a YAML file is read to another base than it was written in.

## What it checks
Unquoted numbers with a leading zero (`0100`), which YAML 1.1 reads to base 8, and numbers with colons
(`16:9`, `1:30`), which it reads to base 60.

## Why it matters
`0100` is 64, and `16:9` is 969. The program gets a number, so nothing complains.

## When it is harmless
A number that is the same to both bases (`07`, `0`) is left alone, and so are digits that name something
(a seed keeps its meaning, an id does not: that is reported). A time (`12:30:00` under a name that speaks
of time) is only noted: its seconds may be meant. Loaders that follow YAML 1.2 read neither so.

## References
- https://yaml.org/type/int.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.run import Fix, Level, Setting, Splice
from stethoscope.signals.settings import Settings
from stethoscope.signals.yaml_loading import YamlLoading

RULE = Rule(code="SET110", since="0.2", severity=Severity.WARNING, subject=Subject.SETTINGS)

_OCTAL = re.compile(r"[-+]?0[0-7_]+")
_SEXAGESIMAL = re.compile(r"[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_TIME = re.compile(r"time|duration|hours?|deadline|timeout|wall|limit|clock", re.IGNORECASE)
_RIGHTS = re.compile(r"mode|chmod|umask|permission", re.IGNORECASE)  # file rights are octal on purpose


def examine(settings: Settings, loading: YamlLoading | None) -> Iterator[Finding]:
    """Fire on each number that PyYAML reads to base 8 or 60."""
    if loading is not None and loading.by_other_rules:
        return
    for setting in settings:
        file = settings.file_of(setting)
        if file is None or file.syntax != "yaml" or not setting.plain or setting.span is None:
            continue
        if isinstance(setting.value, bool) or not isinstance(setting.value, int | float):
            continue
        base = _base(setting)
        if base:
            yield _finding(setting, settings, base)


def _base(setting: Setting) -> int:
    text = setting.text.strip()
    if _OCTAL.fullmatch(text) and not _RIGHTS.search(setting.leaf):
        return 8 if int(text.replace("_", "")) != setting.value else 0
    return 60 if _SEXAGESIMAL.fullmatch(text) else 0


def _finding(setting: Setting, settings: Settings, base: int) -> Finding:
    text = setting.text.strip()
    is_time = base == 60 and bool(_TIME.search(setting.leaf))
    harmless = is_time or settings.trained_with(setting)
    file = settings.file_of(setting)
    meant = text.lstrip("+-").lstrip("0") if base == 8 else f"'{text}'"
    title = f"write {meant}"
    mend = (
        Fix(title, Level.UNSAFE, (Splice(file.file, *setting.span, meant),))
        if file is not None and file.maintained and setting.span is not None and not is_time
        else None
    )
    return Finding(
        setting.where,
        f"{setting.dotted}: PyYAML reads {text} to base {base}, as {setting.value}",
        evidence={"key": setting.dotted, "text": text, "loaded": setting.value},
        strength=0.0 if harmless else 1.0,
        proof=f"YAML 1.1 reads this pattern to base {base}",
        severity=Severity.NOTE if harmless else None,
        fix=mend,
    )
