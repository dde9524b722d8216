"""What a program minimises, for the signals that look into it."""

from __future__ import annotations

from stethoscope.program.index import Index, index
from stethoscope.program.settings.settings_tree import SettingsTree, settings_tree
from stethoscope.program.walk.minimised import minimised
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


def objective_of(run: Run) -> tuple[Index, SettingsTree] | Missing:
    """The names and settings of a program that minimises something; what is missing where none does."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    names, settings = index(run.program), settings_tree(run.recipe)
    if not minimised(names, settings):
        return Missing(
            "no backward pass was found in the source", log_this="stethoscope RUN --code PATH_TO_SOURCE"
        )
    return names, settings
