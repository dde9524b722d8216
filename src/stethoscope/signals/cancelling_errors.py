"""The terms of the loss in which errors cancel, read from the source."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.objective.cancelling_errors import CancellingTerm, cancelling_errors
from stethoscope.run import Run
from stethoscope.signals.minimised_objective import objective_of
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class CancellingErrors:
    """What was found in everything that is minimised."""

    found: tuple[CancellingTerm, ...]


def measure(run: Run) -> CancellingErrors | Missing:
    """Try the terms of the run's objective on numbers."""
    objective = objective_of(run)
    if isinstance(objective, Missing):
        return objective
    return CancellingErrors(cancelling_errors(*objective))
