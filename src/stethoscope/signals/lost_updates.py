"""How many updates a loss scaler left out, by its scale or by a counter in the log."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.scaler import TORCH_INITIAL_SCALE
from stethoscope.run import Recipe, Run, Series
from stethoscope.signals import loss_scale
from stethoscope.signals.missing import Missing

STARTS = ("init_scale", "initial_scale", "initial_loss_scale", "loss_scale_init", "init_loss_scale")
HIGHEST_START = 2.0**126  # what a single-precision scale holds


@dataclass(frozen=True, slots=True, eq=False)
class LostUpdates:
    """The updates that were left out, at least: `lost` of them by each logged step, in a run of `steps`.

    A scale that falls by an octave has left out one update, however seldom it was logged; it may have
    grown in between, so there may have been more.
    """

    series: Series
    lost: tuple[int, ...]
    steps: int

    @property
    def count(self) -> int:
        """All of them."""
        return self.lost[-1] if self.lost else 0

    @property
    def first(self) -> int | None:
        """The first logged step by which an update was missing."""
        return next((int(s) for s, lost in zip(self.series.steps, self.lost, strict=True) if lost), None)

    def before(self, step: int) -> int:
        """Those up to a step."""
        return max((n for at, n in zip(self.series.steps, self.lost, strict=True) if at <= step), default=0)


def measure(run: Run) -> LostUpdates | Missing:
    """Count the octaves that the scale fell, the first ones from the scale it was made with."""
    scale = loss_scale.measure(run)
    if isinstance(scale, Missing):
        return scale
    series = scale.series.finite()
    series = series.select(series.values > 0.0)
    if len(series) == 0 or series.axis != "step":
        return Missing("the loss scale was not logged by steps", loss_scale.LOG_THIS)
    octaves = np.rint(np.log2(series.values))
    first = _start(run.recipe)
    before = (
        np.rint(np.log2(first)) if first and series.steps[0] <= 2 * max(series.cadence(), 1) else octaves[0]
    )
    falls = np.maximum(-np.diff(np.concatenate(([before], octaves))), 0.0)
    lost = tuple(int(number) for number in np.cumsum(falls))
    last = run.steps[1] if run.steps is not None else int(series.steps[-1])
    return LostUpdates(series, lost, max(int(last), 1))


def _start(recipe: Recipe | None) -> float:
    """The scale that the settings start with; torch's own where they do not say."""
    for setting in recipe.named(*STARTS) if recipe else ():
        value = setting.value
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                continue
        if isinstance(value, int | float) and not isinstance(value, bool) and 1.0 <= value <= HIGHEST_START:
            return float(value)
    return TORCH_INITIAL_SCALE
