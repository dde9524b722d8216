"""TOML: only the value changes; comments and layout stay."""

from __future__ import annotations

import json
import re

from stethoscope.prescription.edits.lines import line_around
from stethoscope.prescription.edits.numbers import is_plain_number, with_dot
from stethoscope.run import Setting

SYNTAX = "toml"


def written(value: object, before: str) -> str | None:
    """A value for the place of another one. TOML has no word for nothing."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return with_dot(value) if is_plain_number(value) else None
    return json.dumps(value) if isinstance(value, str) else None


def entry(setting: Setting, text: str) -> tuple[int, int] | None:
    """The line of `key = value`, where nothing else stands on it."""
    if setting.span is None or not setting.key or not isinstance(setting.key[-1], str):
        return None
    start, end = line_around(text, setting.span)
    name = re.escape(setting.key[-1])
    stands_first = re.match(
        rf"""[ \t]*(?:[\w.-]+[ \t]*\.[ \t]*)?["']?{name}["']?[ \t]*=[ \t]*$""", text[start : setting.span[0]]
    )
    behind = text[setting.span[1] : end].strip()
    return (start, end) if stands_first and (not behind or behind.startswith("#")) else None
