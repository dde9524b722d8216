"""Where a character of a text stands."""

from __future__ import annotations


def position(text: str, offset: int) -> tuple[int, int]:
    """The line and column, both from 1, of a character's offset."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1
