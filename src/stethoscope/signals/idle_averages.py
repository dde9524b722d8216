"""The loops of the source that mean to move an average of weights, and do not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.loop.idle_averages import IdleAverage, idle_averages
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class IdleAverages:
    """Every one that the source has."""

    found: tuple[IdleAverage, ...]

    def __iter__(self) -> Iterator[IdleAverage]:
        return iter(self.found)


def measure(run: Run) -> IdleAverages | Missing:
    """Look through the run's program."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    return IdleAverages(tuple(idle_averages(run.program)))
