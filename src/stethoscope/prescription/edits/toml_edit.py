"""TOML: only the value changes; comments and layout stay."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

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


def insertion(text: str, key: Sequence[str], value: object) -> tuple[int, str] | None:
    """Where a new key is written, and as what: behind the last entry of its table, or in one at the end."""
    said = written(value, "")
    if said is None:
        return None
    *tables, name = key
    line = f"{_name(name)} = {said}"
    if not tables:
        end = _end(text, 0)
        return (end, f"\n{line}") if end else (0, f"{line}\n")
    header = ".".join(map(_name, tables))
    quoted = r"\s*\.\s*".join(rf"""["']?{re.escape(one)}["']?""" for one in tables)
    found = re.search(rf"^[ \t]*\[[ \t]*{quoted}[ \t]*\][^\n]*", text, re.MULTILINE)
    if found is not None:
        indent = re.match(r"[ \t]*", found[0])
        return _end(text, found.end()), f"\n{indent[0] if indent else ''}{line}"
    before = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
    return len(text), f"{before}[{header}]\n{line}\n"


def _end(text: str, start: int) -> int:
    """Where the last entry of the table ends that begins here."""
    following = re.compile(r"^[ \t]*\[", re.MULTILINE).search(text, start)
    end = following.start() if following else len(text)
    told = [line for line in re.finditer(r"[^\n]+", text[start:end]) if _tells(line[0])]
    return start + told[-1].end() if told else start


def _tells(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _name(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)
