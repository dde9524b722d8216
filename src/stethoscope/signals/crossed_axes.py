"""The comparisons in what is minimised that hold a row against a column."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.objective.crossed_axes import CrossedAxes, crossed_axes
from stethoscope.run import Run
from stethoscope.signals.minimised_objective import objective_of
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class CrossedComparisons:
    """What was found in everything that is minimised."""

    found: tuple[CrossedAxes, ...]


def measure(run: Run) -> CrossedComparisons | Missing:
    """Follow the shapes of what the run's objective compares."""
    objective = objective_of(run)
    return objective if isinstance(objective, Missing) else CrossedComparisons(crossed_axes(*objective))
