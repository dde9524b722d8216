"""A change to a file that leaves the rest of it as it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """safe: proved, local, undoable. unsafe: proved only elsewhere, or changes the experiment.
    display: shown only."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY = "display"


@dataclass(frozen=True, slots=True)
class Splice:
    """Characters start..end of a file replaced by a text; nothing else of the file changes."""

    file: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """What mends a finding, as one sentence that begins with a verb, and the splices that do it together."""

    title: str
    level: Level
    splices: tuple[Splice, ...]
