"""The optimiser steps that a loss scaler skipped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stethoscope.run import EventKind, Run, Series, Steps
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class SkippedSteps:
    """Steps at (or just before) which an update was skipped, as the log betrays them; may be empty.

    `source` says how they are known: "skipped", "loss_scale" or "messages".
    """

    steps: Steps
    source: str


def measure(run: Run) -> SkippedSteps | Missing:
    """Read skips from a counter, from falls of the loss scale, or from overflow messages."""
    counter, scale = run.series.get("skipped"), run.series.get("loss_scale")
    if counter is not None and len(counter):
        return SkippedSteps(_moves(counter, rising=True), "skipped")
    if scale is not None and len(scale) and np.ptp(_finite(scale)) > 0.0:
        return SkippedSteps(_moves(scale, rising=False), "loss_scale")
    said = [event.step for event in run.events if event.kind is EventKind.OVERFLOW]
    if said:
        return SkippedSteps(np.array([step for step in said if step is not None], dtype=np.int64), "messages")
    return Missing("no skipped steps were logged", 'log({"skipped": skipped_steps})')


def _moves(series: Series, rising: bool) -> Steps:
    """The steps at which the series rises (or falls); a counter per window counts wherever it is not zero."""
    finite = series.finite()
    change = np.diff(finite.values)
    moved = change > 0.0 if rising else change < 0.0
    if rising and np.any(change < 0.0):
        return finite.steps[finite.values > 0.0]
    return finite.steps[1:][moved]


def _finite(series: Series) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    values = series.finite().values
    return values if len(values) else np.zeros(1)
