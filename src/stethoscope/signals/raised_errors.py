"""The errors that training raises, read from the source."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.index import index
from stethoscope.program.objective.loss_terms import maximises
from stethoscope.program.objective.raised_errors import RaisedError, raised_errors
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.program.walk.minimised import minimised
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class RaisedErrors:
    """What was found in everything that is minimised."""

    found: tuple[RaisedError, ...]


def measure(run: Run) -> RaisedErrors | Missing:
    """Look at the signs in the run's objective."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    names, settings = index(run.program), settings_tree(run.recipe)
    if not minimised(names, settings):
        return Missing(
            "no backward pass was found in the source", log_this="stethoscope RUN --code PATH_TO_SOURCE"
        )
    return RaisedErrors(() if maximises(run.program) else raised_errors(names, settings))
