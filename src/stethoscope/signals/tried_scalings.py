"""The scalings of trained denoisers that do not fit the others, tried on numbers."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.objective.tried_scalings import MisfitScaling, misfit_scalings
from stethoscope.run import Run
from stethoscope.signals.minimised_objective import objective_of
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class TriedScalings:
    """What was found in everything that is minimised."""

    misfits: tuple[MisfitScaling, ...]


def measure(run: Run) -> TriedScalings | Missing:
    """Compute the scalings of every denoiser that the run trains."""
    objective = objective_of(run)
    return objective if isinstance(objective, Missing) else TriedScalings(misfit_scalings(*objective))
