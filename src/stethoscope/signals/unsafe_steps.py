"""The steps of the loss that leave the finite numbers, read from the source."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.index import index
from stethoscope.program.objective.unsafe_steps import UnsafeStep, unsafe_steps
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.program.walk.minimised import minimised
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class UnsafeSteps:
    """What was found in everything that is minimised."""

    found: tuple[UnsafeStep, ...]


def measure(run: Run) -> UnsafeSteps | Missing:
    """Look through the run's objective."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    names, settings = index(run.program), settings_tree(run.recipe)
    if not minimised(names, settings):
        return Missing(
            "no backward pass was found in the source", log_this="stethoscope RUN --code PATH_TO_SOURCE"
        )
    return UnsafeSteps(unsafe_steps(names, settings))
