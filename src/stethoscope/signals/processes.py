"""The training source as several processes run it."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.evaluation.evaluations import walks
from stethoscope.program.index import index
from stethoscope.program.ranks.decisions import Ranks, distributed
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class Processes:
    """The walks of a program whose ranks must act alike."""

    ranks: tuple[Ranks, ...]


def measure(run: Run) -> Processes | Missing:
    """Find the walks of the run's program that are distributed."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    found = tuple(distributed(walks(index(run.program), settings_tree(run.recipe))))
    if not found:
        return Missing("nothing in the source trains with several processes")
    return Processes(found)
