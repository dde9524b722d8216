"""Weights of classes, computed from how often these occur, that lift what is frequent."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.objective.counted_weights import CountedWeight, counted_weights
from stethoscope.run import Run
from stethoscope.signals.minimised_objective import objective_of
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class CountedWeights:
    """What was found in everything that is minimised."""

    found: tuple[CountedWeight, ...]


def measure(run: Run) -> CountedWeights | Missing:
    """Try the weights of the run's objective."""
    objective = objective_of(run)
    return objective if isinstance(objective, Missing) else CountedWeights(counted_weights(*objective))
