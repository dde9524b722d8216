"""The losses in which an output excuses every error for nothing."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.objective.excused_errors import ExcusedError, excused_errors
from stethoscope.run import Run
from stethoscope.signals.minimised_objective import objective_of
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class ExcusedErrors:
    """What was found in everything that is minimised."""

    found: tuple[ExcusedError, ...]


def measure(run: Run) -> ExcusedErrors | Missing:
    """Try the whole of each loss on errors and on what may weigh them."""
    objective = objective_of(run)
    return objective if isinstance(objective, Missing) else ExcusedErrors(excused_errors(*objective))
