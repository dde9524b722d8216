"""How many steps one pass over the data takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stethoscope.run import Run, Series
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True)
class Epochs:
    """The length of an epoch in steps."""

    steps_per_epoch: float


def measure(run: Run) -> Epochs | Missing:
    """Read it from the logged epoch numbers."""
    series = run.series.get("epoch")
    if series is None or len(series.finite()) < 2:
        return Missing("the epoch was not logged", 'log({"epoch": epoch})')
    finite = series.finite()
    passed = float(np.ptp(finite.values))
    if passed <= 0.0:
        return Missing("less than one epoch was logged")
    return Epochs(_between_turns(finite) or float(finite.steps[-1] - finite.steps[0]) / passed)


def _between_turns(epochs: Series) -> float | None:
    """The steps from turn to turn, where epochs are counted in whole numbers and the last one is not over."""
    counted = bool(np.all(epochs.values == np.rint(epochs.values)) and np.all(np.diff(epochs.values) >= 0.0))
    if not counted:
        return None
    turns = np.flatnonzero(np.diff(epochs.values) > 0.0) + 1
    if len(turns) < 2:
        return None
    first, last = int(turns[0]), int(turns[-1])
    return float(epochs.steps[last] - epochs.steps[first]) / float(epochs.values[last] - epochs.values[first])
