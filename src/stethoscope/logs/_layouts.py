"""Reads lines of a known shape with one regular expression each.

A log prints the same few shapes of line over and over; only the numbers differ. A line is parsed with care
once, and the places of its values become a pattern for the lines that follow.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

# Where a value stands in a line: its name, first and last character.
Place = tuple[str, int, int]

MOST_LAYOUTS = 32  # shapes kept; a log with more is parsed line by line
_LOOSE = re.compile(r"(\s+)|([\d.,:]*\d[\d.,:]*)|([^\s\d]+|.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Layout:
    """The names of a line's values, in order, and the pattern that captures them."""

    names: tuple[str, ...]
    pattern: re.Pattern[str]


@dataclass(slots=True)
class Layouts:
    """The shapes met so far; `places` parses a line of any shape, or says that it is none."""

    places: Callable[[str], list[Place] | None]
    known: list[Layout] = field(default_factory=list)

    def read(self, line: str) -> tuple[Layout, tuple[str, ...]] | None:
        """The layout of a line and the texts of its values; None for a line that is not of this kind."""
        for at, layout in enumerate(self.known):
            found = layout.pattern.fullmatch(line)
            if found:
                if at:
                    self.known.insert(0, self.known.pop(at))
                return layout, found.groups()
        places = self.places(line)
        if not places:
            return None
        layout = _learnt(line, places)
        if len(self.known) < MOST_LAYOUTS:
            self.known.append(layout)
        return layout, tuple(line[start:end] for _, start, end in places)


def _learnt(line: str, places: list[Place]) -> Layout:
    parts, at = [], 0
    for _, start, end in places:
        parts += [
            _loosened(line[at:start]),
            r"([^\s\],)]+)" if "," not in line[start:end] else r"(\d[\d,]*\d)",
        ]
        at = end
    parts.append(_loosened(line[at:]))
    return Layout(tuple(name for name, _, _ in places), re.compile("".join(parts)))


def _loosened(text: str) -> str:
    """A pattern for text between values: its blanks and numbers may differ, its words may not."""
    return "".join(
        r"\s++" if blank else r"[\d.,:]++" if digits else re.escape(other)
        for blank, digits, other in _LOOSE.findall(text)
    )
