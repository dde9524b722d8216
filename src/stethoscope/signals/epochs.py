"""How many steps one pass over the data takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stethoscope.run import Run
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
    return Epochs(float(finite.steps[-1] - finite.steps[0]) / passed)
