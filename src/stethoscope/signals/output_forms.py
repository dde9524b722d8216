"""In which form the outputs of networks are given to losses, read from the source."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.index import index
from stethoscope.program.objective.box_forms import Boxes, boxes
from stethoscope.program.objective.spread_forms import Spread, spreads
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.program.walk.minimised import minimised
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class OutputForms:
    """Spreads of Gaussians and boxes that are given in another form than the one that is needed."""

    spreads: tuple[Spread, ...]
    boxes: tuple[Boxes, ...]


def measure(run: Run) -> OutputForms | Missing:
    """Look at what the training objective of a program is computed from."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    names, settings = index(run.program), settings_tree(run.recipe)
    if not minimised(names, settings):
        return Missing("no training objective was found")
    return OutputForms(spreads(names, settings), boxes(names, settings))
