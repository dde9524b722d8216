"""The errors that training raises, read from the source."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.objective.loss_terms import maximises
from stethoscope.program.objective.raised_errors import RaisedError, raised_errors
from stethoscope.run import Run
from stethoscope.signals.minimised_objective import objective_of
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class RaisedErrors:
    """What was found in everything that is minimised."""

    found: tuple[RaisedError, ...]


def measure(run: Run) -> RaisedErrors | Missing:
    """Look at the signs in the run's objective."""
    objective = objective_of(run)
    if isinstance(objective, Missing):
        return objective
    return RaisedErrors(() if run.program and maximises(run.program) else raised_errors(*objective))
