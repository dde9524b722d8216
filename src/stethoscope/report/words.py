"""Numbers as people say them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from stethoscope.causes import Standing

CERTAIN = 0.995
WORDS_FOR_CHANCE = (
    (0.95, "almost certain"),
    (0.80, "very likely"),
    (0.60, "likely"),
    (0.30, "possible"),
    (0.10, "unlikely"),
    (0.00, "very unlikely"),
)


def chance(probability: float) -> str:
    """A probability in words and per cent; nothing is ever 100%."""
    word = next((word for least, word in WORDS_FOR_CHANCE if probability >= least), "very unlikely")
    return f"{word}, {percent(probability)}"


def percent(probability: float) -> str:
    """A probability in per cent."""
    if probability >= CERTAIN:
        return "over 99%"
    if probability < 1 - CERTAIN:
        return "under 1%"
    return f"{100 * probability:.0f}%"


def certainty(standing: Standing, probability: float) -> str:
    """How far a cause is established, in a few words."""
    if standing is Standing.PROVED:
        return "proved"
    return f"{standing.value}, {percent(probability)}"


def number(value: float) -> str:
    """A measured value with four digits."""
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e6:
        return f"{int(value):,}"
    return f"{value:.4g}"


def count(how_many: int, singular: str, plural: str | None = None) -> str:
    """A count with its noun: 1 log, 3 logs."""
    return f"{how_many:,} {singular if how_many == 1 else plural or singular + 's'}"


def listed(names: Sequence[str], longest: int) -> str:
    """Names with commas, the rest counted."""
    if len(names) <= longest:
        return ", ".join(names)
    return f"{', '.join(names[:longest])} and {len(names) - longest:,} more"
