"""How large the terms of the training objective are against each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import index
from stethoscope.program.objective.idle_terms import IdleTerm
from stethoscope.program.objective.objectives import Objectives, objectives
from stethoscope.program.objective.term_sizes import TermSize
from stethoscope.program.objective.term_weights import TermWeight
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class TermSizes:
    """For each objective the addends that could be computed, and those whose weight is known."""

    seen: Objectives

    def __iter__(self) -> Iterator[tuple[TermSize, ...]]:
        return iter(self.seen.sizes)

    @property
    def weights(self) -> tuple[TermWeight, ...]:
        """The means among the addends, with their weights."""
        return self.seen.weights

    @property
    def idle(self) -> tuple[IdleTerm, ...]:
        """The addends that no gradient goes through."""
        return self.seen.idle


def measure(run: Run) -> TermSizes | Missing:
    """Compute the terms of the run's objective on pictures with a known error."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    seen = objectives(index(run.program), settings_tree(run.recipe))
    return (
        TermSizes(seen)
        if seen.sizes or seen.weights or seen.idle
        else Missing("no term of the loss could be computed by its formula")
    )
