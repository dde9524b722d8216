"""How the data of training and of evaluation is standardised, read from the source."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.data.data_scaling import DataScaling, data_scaling
from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class ScaledData:
    """Loaders of evaluation beside those of training."""

    seen: DataScaling


def measure(run: Run) -> ScaledData | Missing:
    """Compare what the run's data sets do to their items."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    seen = data_scaling(index(run.program), settings_tree(run.recipe))
    return ScaledData(seen) if seen.compared else Missing("no data set of an evaluation could be followed")
