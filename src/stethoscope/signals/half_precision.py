"""The parts of the source that run in half precision."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.index import index
from stethoscope.program.precision.half_sections import HalfSections, half_sections
from stethoscope.program.settings.settings_tree import SettingsTree, settings_tree
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class HalfPrecision:
    """The functions that run in half precision, with the type of each value in them."""

    sections: HalfSections
    settings: SettingsTree


def measure(run: Run) -> HalfPrecision | Missing:
    """Follow the half-precision regions of the run's program."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    settings = settings_tree(run.recipe)
    return HalfPrecision(half_sections(index(run.program), settings), settings)
