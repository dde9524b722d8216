"""The GradScaler's scale over the run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.scaler import ScalerPath, path
from stethoscope.run import Recipe, Run, Series
from stethoscope.signals.missing import Missing

LOG_THIS = 'log({"loss_scale": scaler.get_scale()})'
GROWTH_INTERVALS = ("growth_interval", "loss_scale_window", "scale_window", "fp16_scale_window")


@dataclass(frozen=True, slots=True, eq=False)
class LossScale:
    """The loss scale as logged, one value per logged step, and its path.

    `growth_interval` is the configured number of clean steps before a doubling, None where not set;
    `path` is the scale in whole octaves, with the overflows that its falls betray.
    """

    series: Series
    growth_interval: int | None
    path: ScalerPath


def measure(run: Run) -> LossScale | Missing:
    """Find the loss scale among the logged series."""
    series = run.series.get("loss_scale")
    if series is None or len(series) == 0:
        return Missing("the loss scale was not logged", LOG_THIS)
    if not np.any(series.values):
        # Frameworks print 0 in this column when there is no scaler at all.
        return Missing("the loss scale column holds only zeros: no scaler was in use", LOG_THIS)
    interval = _growth_interval(run.recipe)
    return LossScale(series, interval, path(series.steps, series.values, interval))


def _growth_interval(recipe: Recipe | None) -> int | None:
    for setting in recipe.named(*GROWTH_INTERVALS) if recipe else ():
        if isinstance(setting.value, int) and setting.value > 0:
            return setting.value
    return None
