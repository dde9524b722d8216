"""How many updates a loss scaler left out: by its logged scale, else by the scale it was made with."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.scaler import TORCH_INITIAL_SCALE
from stethoscope.run import Run, Setting, Where
from stethoscope.signals import loss_scale, training_plan
from stethoscope.signals.loss_scale import LossScale
from stethoscope.signals.missing import Missing

STARTS = ("init_scale", "initial_scale", "initial_loss_scale", "loss_scale_init", "init_loss_scale")
HIGHEST_START = 2.0**126  # what a single-precision scale holds
# A scale at which gradients of a few thousandths fit into half precision; few runs stand higher.
FITS = 2.0**24


@dataclass(frozen=True, slots=True, eq=False)
class LostUpdates:
    """The updates that were left out, at least: `lost` of them by each of `at` steps, in a run of `steps`.

    A scale that falls by an octave has left out one update, however seldom it was logged; it may have
    grown in between, so there may have been more. `said` tells how they are known.
    """

    at: tuple[int, ...]
    lost: tuple[int, ...]
    steps: int
    where: Where
    said: str

    @property
    def count(self) -> int:
        """All of them."""
        return self.lost[-1] if self.lost else 0

    @property
    def first(self) -> int | None:
        """The first step by which an update was missing."""
        return next((step for step, lost in zip(self.at, self.lost, strict=True) if lost), None)

    def before(self, step: int) -> int:
        """Those up to a step."""
        return max((lost for at, lost in zip(self.at, self.lost, strict=True) if at <= step), default=0)


def measure(run: Run) -> LostUpdates | Missing:
    """Count the octaves that the scale fell, the first ones from the scale it was made with."""
    scale = loss_scale.measure(run)
    last = int(run.steps[1]) if run.steps is not None else 0
    if isinstance(scale, Missing):
        return _by_start(run, last or _planned(run)) or scale
    return _by_log(run, scale, last)


def _planned(run: Run) -> int:
    """The steps that the settings plan, where nothing was logged yet."""
    plan = training_plan.measure(run)
    return int(plan.extent.steps or 0) if isinstance(plan, training_plan.TrainingPlan) else 0


def _by_log(run: Run, scale: LossScale, last: int) -> LostUpdates | Missing:
    series = scale.series.finite()
    series = series.select(series.values > 0.0)
    if len(series) == 0 or series.axis != "step":
        return Missing("the loss scale was not logged by steps", loss_scale.LOG_THIS)
    octaves = np.rint(np.log2(series.values))
    asked = _start(run)
    made_with = asked[1] if asked is not None else TORCH_INITIAL_SCALE
    shows_start = series.steps[0] <= 2 * max(series.cadence(), 1)
    before = round(math.log2(made_with)) if shows_start else octaves[0]
    falls = np.maximum(-np.diff(np.concatenate(([before], octaves))), 0.0)
    lost = tuple(int(number) for number in np.cumsum(falls))
    at = tuple(int(step) for step in series.steps)
    said = f"the scaler skipped {lost[-1]:,} of {max(last, 1):,} steps"
    return LostUpdates(at, lost, max(last, 1), series.where(), said)


def _by_start(run: Run, last: int) -> LostUpdates | None:
    """From a scale so high that it has to come down: one update for each octave."""
    asked = _start(run)
    if asked is None or asked[1] <= FITS or last <= 0:
        return None
    setting, scale = asked
    count = min(int(math.log2(scale / FITS)), last)
    said = f"{setting.dotted} is {scale:g}, and about {count:,} of {last:,} steps are skipped until it fits"
    return LostUpdates((count,), (count,), last, setting.where, said)


def _start(run: Run) -> tuple[Setting, float] | None:
    """The scale that the settings start with."""
    for setting in run.recipe.named(*STARTS) if run.recipe else ():
        value = setting.value
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                continue
        if isinstance(value, int | float) and not isinstance(value, bool) and 1.0 <= value <= HIGHEST_START:
            return setting, float(value)
    return None
