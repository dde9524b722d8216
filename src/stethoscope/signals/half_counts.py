"""Ranges that the source counts in half precision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.precision.half_counts import HalfCount, half_counts
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True)
class HalfCounts:
    """Each of them; none in a source that counts in full precision."""

    counts: tuple[HalfCount, ...]

    def __iter__(self) -> Iterator[HalfCount]:
        return iter(self.counts)


def measure(run: Run) -> HalfCounts | Missing:
    """Look through the run's program."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    return HalfCounts(half_counts(run.program))
