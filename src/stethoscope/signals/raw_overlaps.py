"""The overlaps in the loss that are taken of raw outputs, read from the source."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.objective.raw_overlaps import RawOverlap, raw_overlaps
from stethoscope.run import Run
from stethoscope.signals.minimised_objective import objective_of
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class RawOverlaps:
    """What was found in everything that is minimised."""

    found: tuple[RawOverlap, ...]


def measure(run: Run) -> RawOverlaps | Missing:
    """Look through the run's objective."""
    objective = objective_of(run)
    if isinstance(objective, Missing):
        return objective
    return RawOverlaps(raw_overlaps(*objective))
