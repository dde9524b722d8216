"""YAML: only the value changes; comments, tags, anchors and layout stay."""

from __future__ import annotations

import json
import re

from stethoscope.prescription.edits.lines import line_around
from stethoscope.prescription.edits.numbers import is_plain_number, with_dot
from stethoscope.run import ConfigFile, Setting, Splice

SYNTAX = "yaml"
_TAG = re.compile(r"(?:[!&]\S*\s+)+")


def written(value: object, before: str) -> str | None:
    """A value for the place of another one, whose tag and anchor stay."""
    said = _scalar(value)
    kept = _TAG.match(before)
    return f"{kept[0]}{said}" if kept and said is not None else said


def entry(setting: Setting, text: str) -> tuple[int, int] | None:
    """The line of a key that stands on a line of its own."""
    if setting.span is None or not setting.key or not isinstance(setting.key[-1], str):
        return None
    start, end = line_around(text, setting.span)
    name = setting.key[-1]
    stands_first = text[start:end].lstrip().startswith((f"{name}:", f'"{name}"', f"'{name}'", f"{name} :"))
    return (start, end) if stands_first else None


def replaced(setting: Setting, text: str) -> Splice | None:
    """The setting's value replaced by this text."""
    if setting.span is None:
        return None
    return Splice(setting.where.file, *setting.span, text)


def removed(setting: Setting, config: ConfigFile) -> Splice | None:
    """The setting's whole line taken out, where it stands on a line of its own."""
    span = entry(setting, config.text)
    return Splice(setting.where.file, *span, "") if span else None


def _scalar(value: object) -> str | None:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return with_dot(value) if is_plain_number(value) else None
    # What JSON quotes, YAML reads; a bare word might be read as something else.
    return json.dumps(value) if isinstance(value, str) else None
