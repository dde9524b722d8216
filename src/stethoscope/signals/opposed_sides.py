"""Networks that should play against each other and are pushed the same way."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.index import index
from stethoscope.program.objective.opposed_sides import SameSide, same_sides
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class OpposedSides:
    """The pairs of judgements that are pushed the same way."""

    found: tuple[SameSide, ...]


def measure(run: Run) -> OpposedSides | Missing:
    """Look at what the program minimises."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    return OpposedSides(same_sides(index(run.program), settings_tree(run.recipe)))
