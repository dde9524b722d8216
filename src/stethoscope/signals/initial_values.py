"""What the source writes into weights and biases before training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.weights.initial_values import InitialValue, initial_values
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class InitialValues:
    """Every write into a weight or bias; none where layers start as torch makes them."""

    writes: tuple[InitialValue, ...]

    def __iter__(self) -> Iterator[InitialValue]:
        return iter(self.writes)


def measure(run: Run) -> InitialValues | Missing:
    """Look through the run's program."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    return InitialValues(initial_values(run.program))
