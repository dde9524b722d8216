"""A change to a file that leaves the rest of it as it is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Splice:
    """Characters start..end of a file replaced by a text; nothing else of the file changes."""

    file: str
    start: int
    end: int
    text: str
