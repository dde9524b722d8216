"""The GradScaler's scale over the run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.scaler import ScalerPath, path
from stethoscope.run import Recipe, Run, Series
from stethoscope.signals.loss import words
from stethoscope.signals.missing import Missing

LOG_THIS = 'log({"loss_scale": scaler.get_scale()})'
GROWTH_INTERVALS = ("growth_interval", "loss_scale_window", "scale_window", "fp16_scale_window")

NAMES = frozenset({"scale", "scaler", "scaling", "gradscale", "gradscaler", "ampscale"})
LEAST_LINES = 8
HIGH = 256.0  # pictures are enlarged by less
PRINTED = 0.01  # octaves: with three digits or more


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
    series = run.series.get("loss_scale") or _by_its_values(run)
    if series is None or len(series) == 0:
        return Missing("the loss scale was not logged", LOG_THIS)
    if not np.any(series.values):
        # Frameworks print 0 in this column when there is no scaler at all.
        return Missing("the loss scale column holds only zeros: no scaler was in use", LOG_THIS)
    interval = _growth_interval(run.recipe)
    return LossScale(series, interval, path(series.steps, series.values, interval))


def _by_its_values(run: Run) -> Series | None:
    """A series that is only called a scale, and is a power of two on every line, as no other is."""
    called = (one for name, one in run.series.items() if words(name) & NAMES)
    return next((one for one in called if _is_of_a_scaler(one.finite())), None)


def _is_of_a_scaler(series: Series) -> bool:
    if len(series) < LEAST_LINES or float(series.values.min()) <= 0.0 or float(series.values.max()) < HIGH:
        return False
    octaves = np.log2(series.values)
    return bool(np.all(np.abs(octaves - np.round(octaves)) <= PRINTED))


def _growth_interval(recipe: Recipe | None) -> int | None:
    for setting in recipe.named(*GROWTH_INTERVALS) if recipe else ():
        if isinstance(setting.value, int) and setting.value > 0:
            return setting.value
    return None
