"""The losses for which a sure error is cheaper than an undecided answer."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.objective.costs_of_errors import CheapError, cheap_errors
from stethoscope.run import Run
from stethoscope.signals.minimised_objective import objective_of
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class CheapErrors:
    """What was found in everything that is minimised."""

    found: tuple[CheapError, ...]


def measure(run: Run) -> CheapErrors | Missing:
    """Try the terms of the run's objective on right and on wrong scores."""
    objective = objective_of(run)
    return objective if isinstance(objective, Missing) else CheapErrors(cheap_errors(*objective))
