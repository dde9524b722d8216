"""Splices in a text, shown as a unified diff."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import unified_diff
from posixpath import normpath

from stethoscope.run import Splice


def spliced(text: str, splices: Iterable[Splice]) -> str:
    """The text with every splice applied; where two overlap, the one that begins first wins."""
    pieces = []
    at = 0
    for splice in sorted(splices, key=lambda splice: (splice.start, splice.end)):
        if splice.start < at:
            continue
        pieces += [text[at : splice.start], splice.text]
        at = splice.end
    return "".join(pieces) + text[at:]


def diff(file: str, before: str, after: str) -> str:
    """The change as `diff -u` shows it; empty where nothing changes."""
    name = normpath(file).lstrip("/")
    lines = unified_diff(_lines(before), _lines(after), f"a/{name}", f"b/{name}")
    return "".join(
        line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines
    )


def _lines(text: str) -> list[str]:
    # str.splitlines would also split at form feeds and the like, which are no line ends in a file.
    return [line + "\n" for line in text.split("\n")[:-1]] + (
        [text.split("\n")[-1]] if text.split("\n")[-1] else []
    )
