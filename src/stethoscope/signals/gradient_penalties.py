"""A program that minimises something, for rules that look for gradients among its terms."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.index import Index
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.run import Run
from stethoscope.signals.minimised_objective import objective_of
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class GradientPenalties:
    """The names and settings of a program with a backward pass."""

    index: Index
    settings: SettingsTree


def measure(run: Run) -> GradientPenalties | Missing:
    """What a program that minimises something is made of."""
    objective = objective_of(run)
    return objective if isinstance(objective, Missing) else GradientPenalties(*objective)
