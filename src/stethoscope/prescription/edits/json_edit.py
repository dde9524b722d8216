"""JSON: only the value changes; layout stays."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

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


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


def insertion(text: str, key: Sequence[str], value: object) -> tuple[int, str] | None:
    """Where a new key is written, and as what: behind the last entry of its object, laid out as the first."""
    said = written(value, "")
    objects = _objects(text)
    depth = next((n for n in range(len(key) - 1, -1, -1) if tuple(key[:n]) in objects), None)
    if said is None or depth is None:
        return None
    for name in reversed(key[depth + 1 :]):
        said = f"{{{json.dumps(name)}: {said}}}"
    begin, end = objects[tuple(key[:depth])]
    inside = text[begin:end]
    entry = f"{json.dumps(key[depth])}: {said}"
    if not inside.strip():
        return begin, entry
    space = inside[: len(inside) - len(inside.lstrip())]
    return begin + len(inside.rstrip()), f",{space or ' '}{entry}"


def _objects(text: str) -> dict[tuple[str, ...], tuple[int, int]]:
    """What stands between the braces of each object, by the keys that lead to it; none below a list."""
    found: dict[tuple[str, ...], tuple[int, int]] = {}
    stack: list[tuple[str, tuple[str, ...] | None, int]] = []
    name: str | None = None
    last = ""
    for token in _TOKEN.finditer(text):
        said = token[0]
        if said in "{[":
            above = stack[-1][1] if stack else ()
            known = not stack or (stack[-1][0] == "{" and name is not None and above is not None)
            path = None if not known else (*(above or ()), name) if stack and name is not None else ()
            stack.append((said, path, token.end()))
            name = None
        elif said in "}]" and stack:
            kind, path, begin = stack.pop()
            if kind == "{" and path is not None:
                found[path] = begin, token.start()
        elif said == ":":
            name = json.loads(last) if last.startswith('"') else None
        last = said
    return found
