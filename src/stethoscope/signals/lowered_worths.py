"""Actors whose loss lowers what their actions were worth, or what their critic thinks of them."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.objective.drawn_actions import DrawnAction, drawn_actions
from stethoscope.program.objective.lowered_worths import LoweredWorth, lowered_worths
from stethoscope.program.objective.tried_policies import TriedPolicy, tried_policies
from stethoscope.run import Run
from stethoscope.signals.minimised_objective import objective_of
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class LoweredWorths:
    """What was found in everything that is minimised."""

    found: tuple[LoweredWorth, ...]
    policies: tuple[TriedPolicy, ...] = ()
    draws: tuple[DrawnAction, ...] = ()


def measure(run: Run) -> LoweredWorths | Missing:
    """Try the losses that hold answers of critics."""
    objective = objective_of(run)
    if isinstance(objective, Missing):
        return objective
    return LoweredWorths(lowered_worths(*objective), tried_policies(*objective), drawn_actions(*objective))
