"""Python: settings assigned in a file, entries of a dict or a call, and the defaults of a parser."""

from __future__ import annotations

import ast
import re

from stethoscope.prescription.edits.entries import with_its_comma
from stethoscope.prescription.edits.lines import line_around
from stethoscope.prescription.edits.numbers import is_plain_number
from stethoscope.run import Setting

SYNTAX = "python"


def written(value: object, before: str) -> str | None:
    """A value for the place of another one, strings with the quotes that were there."""
    if isinstance(value, float) and not is_plain_number(value):
        return None
    if not (value is None or isinstance(value, bool | int | float | str)):
        return None
    said = repr(value)
    if isinstance(value, str) and before.startswith('"') and '"' not in value and "\\" not in said:
        return f'"{value}"'
    return said


def entry(setting: Setting, text: str) -> tuple[int, int] | None:
    """`name = value` on lines of its own, or `name=value` and `"name": value` with their comma."""
    if setting.span is None or not setting.key or not isinstance(setting.key[-1], str):
        return None
    name = re.escape(setting.key[-1])
    before = text[: setting.span[0]]
    item = re.search(rf"""(?:\b{name}\s*=\s*|(["']){name}\1\s*:\s*)$""", before)
    if item is None:
        annotated = re.search(rf"\b{name}\s*:[^=\n]*=\s*$", before)
        return _statement(text, annotated.start(), setting.span) if annotated else None
    return _statement(text, item.start(), setting.span) or with_its_comma(
        text, (item.start(), setting.span[1])
    )


def _statement(text: str, start: int, span: tuple[int, int]) -> tuple[int, int] | None:
    """The lines of an assignment that is a statement of its own; a body is not left empty."""
    begin, end = line_around(text, (start, span[1]))
    behind = text[span[1] : end].strip()
    if text[begin:start].strip() or (behind and not behind.startswith("#")):
        return None
    try:
        ast.parse(text[:begin] + text[end:])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return begin, end
