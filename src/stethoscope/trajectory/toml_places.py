"""On which line of a TOML file a key stands; the standard library's reader does not say."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_STRINGS = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\']*\'')
_PART = re.compile(r'"((?:\\.|[^"\\])*)"|\'([^\']*)\'|([A-Za-z0-9_-]+)')


@dataclass(frozen=True, slots=True)
class Section:
    """A table of the file: its path, how many of that path came before it, and its lines."""

    path: tuple[str, ...]
    number: int
    first: int
    lines: tuple[str, ...]


def sections(text: str) -> tuple[Section, ...]:
    """The tables of a file in their order, what stands before the first header among them."""
    found: list[tuple[tuple[str, ...], int, list[str]]] = [((), 1, [])]
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(line)
        # A row of numbers within an array may look like a header; no table here has a number for a name.
        if header and not _is_value(header[2]):
            found.append((_path(header[2]), number, []))
        found[-1][2].append(line)
    seen: dict[tuple[str, ...], int] = {}
    made = []
    for path, first, lines in found:
        made.append(Section(path, seen.get(path, 0), first, tuple(lines)))
        seen[path] = seen.get(path, 0) + 1
    return tuple(made)


def line_of(text: str, path: tuple[str, ...], key: str = "", number: int = 0) -> int:
    """The line of a key within a table, or of the table itself; 1 where neither is found."""
    every = sections(text)
    own = [one for one in every if one.path == path and one.number == number]
    # A key may be a table of its own, and a table be written inside another: signal = { loss = ... }.
    within = [one for one in every if one.path == path[: len(one.path)]]
    for section in [*own, *within] if key else []:
        if (at := _offset(section, key)) is not None:
            return section.first + at
    below = [one for one in every if key and one.path == (*path, key)]
    return next((section.first for section in [*below, *own]), 1)


def _offset(section: Section, key: str) -> int | None:
    """How many lines below its first a section has a key."""
    if not key:
        return 0
    names = re.compile(rf"(?<![\w\"'-])(?:{re.escape(key)}|\"{re.escape(key)}\"|'{re.escape(key)}')\s*[=.]")
    for offset, line in enumerate(section.lines):
        if names.search(_without_comment(line)):
            return offset
    return None


def _without_comment(line: str) -> str:
    """The line without its comment, values in quotes blanked where they are no keys."""
    blanked = _STRINGS.sub(lambda s: s[0].replace("#", "_").replace("=", "_"), line)
    return blanked.partition("#")[0]


def _path(header: str) -> tuple[str, ...]:
    return tuple(a or b or c for a, b, c in _PART.findall(header))


def _is_value(header: str) -> bool:
    return bool(re.fullmatch(r"[\d\s,._+-]*", header))
