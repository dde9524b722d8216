"""Objectives that only draw outputs together, read from the source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import index
from stethoscope.program.objective.lone_attraction import LoneAttraction, lone_attractions
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class LoneAttractions:
    """Every one that training minimises."""

    found: tuple[LoneAttraction, ...]

    def __iter__(self) -> Iterator[LoneAttraction]:
        return iter(self.found)


def measure(run: Run) -> LoneAttractions | Missing:
    """Look at what the run's program minimises."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    return LoneAttractions(lone_attractions(index(run.program), settings_tree(run.recipe)))
