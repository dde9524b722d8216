"""What a text format knows: where a line of its kind holds the step and the values.

A grammar is asked once for every *shape* of line, not for every line: lines that differ only in their digits
have one shape, and the places found in one of them hold for all. So a grammar may be as careful as it likes,
and may not look at the digits themselves (it may look at whether something is a number).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stethoscope.logs._reading.head import Head

Span = tuple[int, int]
# The name of a value, and the first character of its number and the one behind the last.
Place = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class StepLine:
    """Where a line holds its numbers, as spans of its characters.

    `step` is None for a line that speaks of the step printed last before it. With `epoch` and `epoch_length`,
    `step` counts within the epoch: the line's step is (epoch - first_epoch) * epoch_length + step. `total`
    is the announced number of steps; with `laps`, a counter that has reached it and begins again counts on.
    `axis` says what the step is ("step", "epoch", "kimg", ...). `fixed`
    are further spans whose digits belong to names; digits behind a letter or underscore do so anyway.
    """

    values: tuple[Place, ...]
    step: Span | None = None
    total: Span | None = None
    epoch: Span | None = None
    epoch_length: Span | None = None
    first_epoch: int = 0
    laps: bool = False
    axis: str = "step"
    fixed: tuple[Span, ...] = ()


# Reads one line of a shape; None for a line that is not of this format.
Grammar = Callable[[str], StepLine | None]

LONGEST_RECORD = 8_000  # characters of a line that a grammar is shown; the longest known are of 1,000


def step_lines(head: Head, grammar: Grammar, enough: int = 3) -> int:
    """How many lines with a step of their own the ends of a file hold, counted up to `enough`."""
    if head.binary or head.prose:
        return 0
    found = 0
    for line, times in head.shapes:
        place = grammar(line)
        found += times if place is not None and place.step is not None else 0
        if found >= enough:
            return enough
    return found


def confidence(count: int) -> float:
    """How sure a reader is that has seen this many lines of its own."""
    return (0.0, 0.5, 0.7)[count] if count < 3 else 0.9
