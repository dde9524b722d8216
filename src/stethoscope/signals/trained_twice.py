"""The losses of steps that a restart trained again, as they were before and after it."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.run import Run, Series
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class TrainedTwice:
    """The training loss of each abandoned branch, and that of the branch that the run went on with."""

    abandoned: tuple[Series, ...]
    kept: Series


def measure(run: Run) -> TrainedTwice | Missing:
    """Find the branches of the loss."""
    kept = run.series.get("loss")
    if kept is None or not len(kept.finite()):
        return Missing("the training loss was not logged")
    left = tuple(one.finite() for one in run.abandoned if one.name == kept.name and one.axis == kept.axis)
    left = tuple(one for one in left if len(one))
    return TrainedTwice(left, kept.finite()) if left else Missing("no step was trained twice")
