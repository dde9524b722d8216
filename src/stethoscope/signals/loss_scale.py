"""The GradScaler's scale over the run."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.run import Run, Series
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class LossScale:
    """The loss scale as logged, one value per logged step."""

    series: Series


def measure(run: Run) -> LossScale | Missing:
    """Find the loss scale among the logged series."""
    series = run.series.get("loss_scale")
    if series is None or len(series) == 0:
        return Missing("the loss scale was not logged", log_this='log({"loss_scale": scaler.get_scale()})')
    return LossScale(series)
