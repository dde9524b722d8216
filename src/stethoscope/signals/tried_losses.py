"""Losses of the program that ask for the contrary of what they are called after, tried on numbers."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.objective.tried_losses import TriedLoss, tried_losses
from stethoscope.run import Run
from stethoscope.signals.minimised_objective import objective_of
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class TriedLosses:
    """What was found in everything that is minimised."""

    found: tuple[TriedLoss, ...]


def measure(run: Run) -> TriedLosses | Missing:
    """Try the losses of the run's objective."""
    objective = objective_of(run)
    return objective if isinstance(objective, Missing) else TriedLosses(tried_losses(*objective))
