"""The actors whose loss lowers what their critic thinks of their actions."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.objective.lowered_worths import LoweredWorth, lowered_worths
from stethoscope.run import Run
from stethoscope.signals.minimised_objective import objective_of
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class LoweredWorths:
    """What was found in everything that is minimised."""

    found: tuple[LoweredWorth, ...]


def measure(run: Run) -> LoweredWorths | Missing:
    """Try the losses that hold answers of critics."""
    objective = objective_of(run)
    return objective if isinstance(objective, Missing) else LoweredWorths(lowered_worths(*objective))
