"""A word in a YAML file is loaded as true or false.

## What it checks
Unquoted `on`, `off`, `yes` and `no` in YAML where a word was meant: as an entry of a list of words
(`[de, en, no]`), under a name whose values are words (a strategy, mode, precision, language), and where the
source compares the setting with that very word.

## Why it matters
PyYAML follows YAML 1.1, where these four words are booleans. The program gets False instead of "no": it
stops at an unknown value, or takes the other branch without a word.

## When it is harmless
Where a switch was meant (`shuffle: yes`, `use_ema: on`), true and false are right, and nothing is said.
Loaders that follow YAML 1.2 (ruamel) keep the word. A run that took steps with the value is only noted.

## References
- https://yaml.org/type/bool.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.run import Fix, Key, Level, Setting, Splice
from stethoscope.signals.settings import Settings
from stethoscope.signals.yaml_loading import YamlLoading

RULE = Rule(code="SET108", since="0.2", severity=Severity.WARNING, subject=Subject.SETTINGS)

_WORDS = frozenset({"on", "off", "yes", "no"})
# Names whose values are words, one of which is "no" or "off".
_TAKES_A_WORD = re.compile(
    r"(?:^|_)(?:strategy|mode|precision|policy|language|lang|locale|country|downcast_bf16)$", re.IGNORECASE
)
# A mode or precision may be a switch by that name: `eval_mode: on`, `mixed_precision: off`.
_MAY_BE_A_SWITCH = re.compile(r"(?:^|_)(?:mode|policy)$", re.IGNORECASE)


def examine(settings: Settings, loading: YamlLoading | None) -> Iterator[Finding]:
    """Fire on every boolean that was meant as a word."""
    if loading is not None and loading.by_other_rules:
        return
    compared = loading.compared if loading is not None else frozenset()
    siblings = _lists(settings)
    for setting in settings:
        if _is_word_as_boolean(setting) and (why := _meant(setting, siblings, compared)):
            yield _finding(setting, settings, why)


def _is_word_as_boolean(setting: Setting) -> bool:
    written_here = setting.plain and setting.span is not None
    return written_here and isinstance(setting.value, bool) and setting.text.lower() in _WORDS


def _lists(settings: Settings) -> dict[Key, list[Setting]]:
    found: dict[Key, list[Setting]] = {}
    for setting in settings:
        if setting.key and isinstance(setting.key[-1], int):
            found.setdefault(setting.key[:-1], []).append(setting)
    return found


def _meant(setting: Setting, lists: dict[Key, list[Setting]], compared: frozenset[str]) -> str:
    """Why a word was meant; "" where it may well be a switch."""
    word = setting.text.lower()
    others = [one for one in lists.get(setting.key[:-1], ()) if one is not setting]
    if others and isinstance(setting.key[-1], int):
        if all(isinstance(one.value, str) or one.text.lower() in _WORDS for one in others) and any(
            isinstance(one.value, str) for one in others
        ):
            return "the other entries of the list are words"
        return ""
    if not _TAKES_A_WORD.search(setting.leaf):
        return ""
    if word in compared:
        return f'the source compares it with "{word}"'
    may_be_switch = _MAY_BE_A_SWITCH.search(setting.leaf) or word in {"on", "yes"}
    return "" if may_be_switch else f"{setting.leaf} takes a word"


def _finding(setting: Setting, settings: Settings, why: str) -> Finding:
    harmless = settings.trained_with(setting)
    loaded = "true" if setting.value else "false"
    message = f"{setting.dotted}: PyYAML loads {setting.text} as {loaded}, and {why}; write '{setting.text}'"
    file = settings.file_of(setting)
    quoted = (
        Fix(f"write '{setting.text}'", Level.SAFE, (Splice(file.file, *setting.span, f"'{setting.text}'"),))
        if file is not None and file.maintained and setting.span is not None
        else None
    )
    return Finding(
        setting.where,
        message + (" (this run took steps with it)" if harmless else ""),
        evidence={"key": setting.dotted, "text": setting.text, "loaded": loaded},
        strength=0.0 if harmless else 1.0,
        proof="YAML 1.1 lists this word among the booleans",
        severity=Severity.NOTE if harmless else None,
        fix=quoted,
    )
