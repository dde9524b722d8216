"""The hooks of Lightning that end the training on one rank alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import index
from stethoscope.program.ranks.callback_stops import CallbackStop, callback_stops
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class CallbackStops:
    """Every condition under which a hook ends the training by what its rank has seen."""

    stops: tuple[CallbackStop, ...]

    def __iter__(self) -> Iterator[CallbackStop]:
        return iter(self.stops)


def measure(run: Run) -> CallbackStops | Missing:
    """Find such hooks in the run's program."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    found = callback_stops(index(run.program))
    if found is None:
        return Missing("no hook of Lightning ends a training of several processes")
    return CallbackStops(found)
