"""Losses that hold a pair against others, the wrong way round."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.index import index
from stethoscope.program.objective.turned_contrasts import TurnedContrast, turned_contrasts
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class TurnedContrasts:
    """The contrasts that push their pairs apart."""

    found: tuple[TurnedContrast, ...]


def measure(run: Run) -> TurnedContrasts | Missing:
    """Look through the program's losses."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    return TurnedContrasts(turned_contrasts(index(run.program)))
