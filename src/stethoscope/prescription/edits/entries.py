"""Entries of lists and tables that commas part."""

from __future__ import annotations

import re


def with_its_comma(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """The span of an entry with the comma behind it, or else before it, and the line that it leaves empty."""
    start, end = span
    behind = re.compile(r"[ \t]*,").match(text, end)
    if behind is not None:
        return _with_its_line(text, start, behind.end())
    before = re.search(r",\s*$", text[:start])
    return (before.start(), end) if before is not None else (start, end)


def _with_its_line(text: str, start: int, end: int) -> tuple[int, int]:
    """The span, widened by the rest of its lines where nothing else stands on them."""
    begin = text.rfind("\n", 0, start) + 1
    rest = re.compile(r"[ \t]*\n").match(text, end)
    if not text[begin:start].strip() and rest is not None and begin > 0:
        return begin, rest.end()
    space = re.compile(r"[ \t]*").match(text, end)
    return start, space.end() if space is not None else end
