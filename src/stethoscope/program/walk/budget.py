"""How far a program is followed: a large one less deeply, so that reading it stays a matter of seconds."""

from __future__ import annotations

from functools import lru_cache

from stethoscope.program.index import Index

FULL_LINES = 40_000  # up to here every walk goes as far as it asks; few projects that only train are larger
LEAST = 0.4  # of what a walk asks for; a package of 100,000 lines is then followed in about five seconds


def budget(index: Index, steps: int) -> int:
    """The expressions and statements that a walk may follow in this program, of those that it asks for."""
    return int(steps * min(1.0, max(LEAST, FULL_LINES / max(_lines(index), 1))))


@lru_cache(maxsize=8)
def _lines(index: Index) -> int:
    return sum(module.source.text.count("\n") for module in index.modules.values())
