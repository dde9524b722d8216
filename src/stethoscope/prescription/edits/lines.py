"""Lines of a text, by offsets."""

from __future__ import annotations


def line_around(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """The whole lines on which a span stands, their last line end included."""
    start = text.rfind("\n", 0, span[0]) + 1
    end = text.find("\n", span[1])
    return start, len(text) if end < 0 else end + 1
