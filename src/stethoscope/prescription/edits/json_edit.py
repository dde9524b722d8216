"""JSON: only the value changes; layout stays."""

from __future__ import annotations

import json
import re

from stethoscope.prescription.edits.entries import with_its_comma
from stethoscope.prescription.edits.numbers import is_plain_number
from stethoscope.run import Setting

SYNTAX = "json"


def written(value: object, before: str) -> str | None:
    """A value for the place of another one."""
    if isinstance(value, float) and not is_plain_number(value):
        return None
    return json.dumps(value) if value is None or isinstance(value, bool | int | float | str) else None


def entry(setting: Setting, text: str) -> tuple[int, int] | None:
    """`"key": value` with the comma that goes with it."""
    if setting.span is None or not setting.key or not isinstance(setting.key[-1], str):
        return None
    name = re.escape(json.dumps(setting.key[-1]))
    plain = re.escape(json.dumps(setting.key[-1], ensure_ascii=False))
    found = re.search(rf"(?:{name}|{plain})\s*:\s*$", text[: setting.span[0]])
    return with_its_comma(text, (found.start(), setting.span[1])) if found else None
