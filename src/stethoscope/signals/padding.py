"""Padding on its way into the loss, read from the source."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.index import index
from stethoscope.program.objective.padding import Padding, padding_in_loss
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class PaddingInLoss:
    """What data sets add to their items that reaches the loss."""

    seen: Padding


def measure(run: Run) -> PaddingInLoss | Missing:
    """Follow the losses of the run's program back into its data sets."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    seen = padding_in_loss(index(run.program), settings_tree(run.recipe))
    return (
        PaddingInLoss(seen)
        if seen.followed or seen.reaching
        else Missing("no loss could be followed back into its data set")
    )
