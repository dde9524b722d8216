"""The validation path, read from the source."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.validation_path import ValidationPath, validation_path
from stethoscope.run import Run
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class Yardstick:
    """What validation does to what it measures."""

    path: ValidationPath


def measure(run: Run) -> Yardstick | Missing:
    """Follow the functions that validate."""
    if run.program is None or not run.program.sources:
        return Missing("the training source was not found", log_this="stethoscope RUN --code PATH_TO_SOURCE")
    path = validation_path(run.program, run.recipe)
    if not path.functions:
        return Missing(
            "no validation was found in the source", log_this="stethoscope RUN --code PATH_TO_SOURCE"
        )
    if path.compared == 0 and not path.shrinkings and not path.followings:
        return Missing(
            f"no comparison of a prediction with a target was found in {', '.join(path.functions[:3])}",
            log_this="stethoscope RUN --code PATH_TO_SOURCE",
        )
    return Yardstick(path)
