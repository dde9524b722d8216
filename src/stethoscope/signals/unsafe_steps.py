"""The steps of the loss that leave the finite numbers, read from the source."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.objective.undefined_levels import UndefinedLevel, undefined_levels
from stethoscope.program.objective.unsafe_steps import UnsafeStep, unsafe_steps
from stethoscope.run import Run
from stethoscope.signals.minimised_objective import objective_of
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class UnsafeSteps:
    """What was found in everything that is minimised."""

    found: tuple[UnsafeStep, ...]
    levels: tuple[UndefinedLevel, ...]


def measure(run: Run) -> UnsafeSteps | Missing:
    """Look through the run's objective."""
    objective = objective_of(run)
    if isinstance(objective, Missing):
        return objective
    return UnsafeSteps(unsafe_steps(*objective), undefined_levels(*objective))
