"""The axes along which scores that labels pick from are made probabilities."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.objective.scores_along import ScoresAlong, scores_along
from stethoscope.run import Run
from stethoscope.signals.minimised_objective import objective_of
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class ScoreAxes:
    """Each softmax that was found to be taken along another axis than the classes."""

    found: tuple[ScoresAlong, ...]


def measure(run: Run) -> ScoreAxes | Missing:
    """Try the likelihoods of the run's objective on scores of several shapes."""
    objective = objective_of(run)
    return objective if isinstance(objective, Missing) else ScoreAxes(scores_along(*objective))
