"""The losses from outside that training calls, and what they are given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import index
from stethoscope.program.objective.loss_calls import LossCall, loss_calls
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class LossCalls:
    """Every call of a known loss."""

    calls: tuple[LossCall, ...]

    def __iter__(self) -> Iterator[LossCall]:
        return iter(self.calls)


def measure(run: Run) -> LossCalls | Missing:
    """Find the losses that the run's program calls."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    found = loss_calls(index(run.program), settings_tree(run.recipe))
    return (
        LossCalls(found) if found else Missing("no call of a loss with a known meaning was found in training")
    )
