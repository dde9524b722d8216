"""How large the terms of the training objective are against each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import index
from stethoscope.program.settings_tree import settings_tree
from stethoscope.program.term_sizes import TermSize, term_sizes
from stethoscope.run import Run
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class TermSizes:
    """For each objective the addends that could be computed."""

    objectives: tuple[tuple[TermSize, ...], ...]

    def __iter__(self) -> Iterator[tuple[TermSize, ...]]:
        return iter(self.objectives)


def measure(run: Run) -> TermSizes | Missing:
    """Compute the terms of the run's objective on pictures with a known error."""
    if run.program is None or not run.program.sources:
        return Missing("the training source was not found", log_this="stethoscope RUN --code PATH_TO_SOURCE")
    found = term_sizes(index(run.program), settings_tree(run.recipe))
    return TermSizes(found) if found else Missing("no term of the loss could be computed by its formula")
