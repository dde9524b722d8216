"""Shell launchers: the value of an option, or of the variable it is given by."""

from __future__ import annotations

import re

from stethoscope.prescription.edits.numbers import is_plain_number
from stethoscope.run import Setting

SYNTAX = "shell"
# What a shell leaves as it is, inside quotes and outside.
_HARMLESS = re.compile(r"[A-Za-z0-9_./:,+=@%-]+")
_SAID = {True: "true", False: "false", None: "null"}


def written(value: object, before: str) -> str | None:
    """A value for the place of another one, in the words of a command line."""
    if isinstance(value, bool) or value is None:
        said = _SAID[value]
        return said.title() if before.istitle() else said
    if isinstance(value, int | float):
        return repr(value) if is_plain_number(value) else None
    return value if isinstance(value, str) and _HARMLESS.fullmatch(value) else None


def entry(setting: Setting, text: str) -> tuple[int, int] | None:
    """`--key value`, `--key=value` or `key=value`, with the line that it leaves empty."""
    if not setting.key or setting.span is None or setting.through:
        return None
    parts = "[._-]".join(re.escape(part) for part in re.split("[_-]", str(setting.key[-1])))
    before = text[: setting.span[0]]
    flag = re.search(rf"""(?<!\S)--?(?:[\w.]+\.)?{parts}(?:=|[ \t]+(?:\\\n[ \t]*)?)["']?$""", before)
    word = re.search(rf"""(?<!\S)[+]{{0,2}}(?:[\w.]+\.)?{parts}=["']?$""", before)
    found = flag or word
    if found is None:
        return None
    end = setting.span[1]
    if text[end : end + 1] in "\"'" and text[end : end + 1] == before[-1:]:
        end += 1
    return _with_its_line(text, found.start(), end)


def _with_its_line(text: str, start: int, end: int) -> tuple[int, int]:
    begin = text.rfind("\n", 0, start) + 1
    rest = re.compile(r"[ \t]*\\\n").match(text, end)
    if begin and not text[begin:start].strip() and rest is not None:
        return begin, rest.end()  # a line of its own, with the backslash that continues it
    space = re.search(r"[ \t]+$", text[:start])
    return (space.start() if space else start), end
