"""Updates of weights whose result is thrown away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.loop.thrown_updates import ThrownUpdate, thrown_updates
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class ThrownUpdates:
    """Every one that the source has."""

    found: tuple[ThrownUpdate, ...]

    def __iter__(self) -> Iterator[ThrownUpdate]:
        return iter(self.found)


def measure(run: Run) -> ThrownUpdates | Missing:
    """Look through the run's program."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    return ThrownUpdates(tuple(thrown_updates(run.program)))
