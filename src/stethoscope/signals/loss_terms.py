"""The terms of the training objective, read from the source."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.objective.loss_terms import LossTerm, loss_terms
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class ObjectiveTerms:
    """What is minimised, term by term."""

    terms: tuple[LossTerm, ...]

    @property
    def wrong(self) -> tuple[LossTerm, ...]:
        """The likenesses that are minimised."""
        return tuple(term for term in self.terms if term.wrong)


def measure(run: Run) -> ObjectiveTerms | Missing:
    """Find what the program minimises."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    found = loss_terms(run.program, run.recipe)
    if found.sinks == 0 and not found.terms:
        return Missing(
            "no backward pass was found in the source", log_this="stethoscope RUN --code PATH_TO_SOURCE"
        )
    return ObjectiveTerms(found.terms)
